"""Writes synthetic recordings with the statistics of a real data set, in files that tonic reads.

    python scripts/make_data.py ssc --samples 2000 --out data

tonic asks for at least 10,000 recordings of each split of nmnist, and for 100 of dvsgesture. A
folder that already holds the same recordings stays as it is; an interrupted command leaves nothing.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from rich.progress import Progress

from snnbench.cli import exit_in_words
from snnbench.cli.console import messages, output
from snnbench.common.mistakes import ConfigError, nearest
from snnbench.core.datasets import DATA_SETS
from snnbench.data.files import make

SHARES = {"train": 1, "valid": 8, "test": 8}
"""By split: one recording for so many of the training split."""


def main() -> None:
    """Raises SystemExit for a mistake."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("name", help=", ".join(DATA_SETS))
    parser.add_argument(
        "--samples", type=int, default=2000, help="recordings of the training split; default: 2000"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument(
        "--out", type=Path, default=Path("data"), help="the folder of data sets; default: data"
    )
    options = parser.parse_args()
    if options.samples < 1 or options.seed < 0:
        parser.error("--samples must be at least 1, and --seed at least 0")
    with exit_in_words():
        write(options.name, options.samples, options.seed, options.out)


def write(name: str, samples: int, seed: int, out: Path) -> None:
    """Writes the recordings of all splits and prints their folder. Raises ConfigError."""
    if name not in DATA_SETS:
        known = ", ".join(DATA_SETS)
        raise ConfigError(
            f"there is no data set {name!r} (there are {known}){nearest(name, DATA_SETS)}"
        )
    data = DATA_SETS[name]
    counts = {split: max(1, samples // SHARES[split]) for split in data.splits}
    console = messages()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(name, total=sum(counts.values()))
        for _ in make(data, counts, seed, out):
            progress.advance(bar)
    output().print(str(out / data.folder), soft_wrap=True)


if __name__ == "__main__":
    main()
