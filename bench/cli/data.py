"""`snnbench data`: files of events."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from ..common.mistakes import ConfigError, nearest
from ..core.datasets import DATA_SETS
from ..data.files import make as write
from .console import messages, output

data = typer.Typer(no_args_is_help=True, help="Files of events: what data loading is measured on.")

Name = Annotated[str, typer.Argument(help=f"{', '.join(DATA_SETS)}.", show_default=False)]
SHARES = {"train": 1, "valid": 8, "test": 8}
"""By split: one recording for so many of the training split."""


@data.command()
def make(
    name: Name,
    samples: Annotated[
        int,
        typer.Option(
            min=1, help="Recordings of the training split; the others have an eighth of it."
        ),
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same files.")] = 0,
    out: Annotated[
        Path, typer.Option(help="The folder that holds data sets; give it to tonic as save_to.")
    ] = Path("data"),
) -> None:
    """Write synthetic recordings with the statistics of a real data set, in files that tonic reads unchanged: it wants at
    least 10,000 recordings of each split of nmnist, and 100 of dvsgesture.

    A folder that already holds the same is left as it is; an interrupted command leaves nothing.
    """
    if name not in DATA_SETS:
        raise ConfigError(
            f"there is no data set {name!r} (there are {', '.join(DATA_SETS)}){nearest(name, DATA_SETS)}"
        )
    chosen = DATA_SETS[name]
    counts = {split: max(1, samples // SHARES[split]) for split in chosen.splits}
    console = messages()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(name, total=sum(counts.values()))
        for _ in write(chosen, counts, seed, out):
            progress.advance(bar)
    output().print(str(out / chosen.folder), soft_wrap=True)
