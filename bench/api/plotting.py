"""`snnbench.plot`: the figures of a report, in Python."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..common.mistakes import ConfigError, nearest, shown
from ..core.case import PHASES
from ..report.figures import NAMES
from ..report.files import figures_to_plot
from ..report.plots import ALL, DRAWING, Choice, drawn
from .results import Results, results_in


def plot(
    results: Results | str | Path,
    *figures: str,
    phases: str | Sequence[str] = (),
    formats: str | Sequence[str] = "svg",
) -> "Plots":
    """Draws figures of a report, as wide as a column of a paper.

    `results` is what `run`, `load` or `quick` returns, a folder or a bundle. `figures` are drawn
    under all conditions; without any, each is drawn under its first. `phases` chooses some of them,
    and `formats` are "svg", "png" and "pdf". Raises ConfigError for a mistake, in one sentence.

    Example:

        import snnbench

        plots = snnbench.plot("results/quickstart.bundle.jsonl", "times", phases="step")
        plots.save("figures")
    """
    known = {
        "figures": (figures, (*NAMES, ALL)),
        "phases": (listed(phases), PHASES),
        "formats": (listed(formats), tuple(suffix[1:] for suffix in DRAWING)),
    }
    for keyword, (values, valid) in known.items():
        for value in values:
            if value not in valid:
                given = shown(value) if keyword == "figures" else f"{keyword}={shown(value)}"
                near = nearest(value, valid)
                raise ConfigError(f"plot({given}): must be one of {', '.join(valid)}{near}")
    table = results_in(results).table
    all_figures = figures_to_plot(table)
    choice = Choice(*(tuple(values) for values, _ in known.values()))
    missing = [sentence.removeprefix("--only ") for sentence in choice.empty(all_figures)]
    return Plots(dict(drawn(table, all_figures, choice)), missing)


def listed(values: str | Sequence[str]) -> Sequence[str]:
    return [values] if isinstance(values, str) else values


class Plots(dict[str, bytes]):
    """Contents of files by their names. A notebook shows the figures; `missing` has a sentence on
    each that there is nothing to draw of."""

    def __init__(self, files: dict[str, bytes], missing: list[str]) -> None:
        super().__init__(files)
        self.missing = missing

    def save(self, folder: str | Path) -> list[Path]:
        """Writes the files into a folder, which is made if needed, and returns their paths."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder) / name for name in self]
        for path in paths:
            path.write_bytes(self[path.name])
        return paths

    def __repr__(self) -> str:
        return "\n".join([*self, *self.missing])

    def _repr_html_(self) -> str:
        kinds = {".svg": "svg+xml", ".png": "png"}
        pictures = [
            f'<img alt="{escape(name)}" src="data:image/{kinds[Path(name).suffix]};base64,'
            f'{base64.b64encode(content).decode()}">'
            for name, content in self.items()
            if Path(name).suffix in kinds
        ]
        return "\n".join([*pictures, *(f"<p>{escape(sentence)}</p>" for sentence in self.missing)])
