"""Other people's published figures beside ours: another machine, often another network, some only nominally of that size."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mistakes import ConfigError
from ...records.rows import grouped
from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, panel_of
from .spec import SECONDS, TIME, Spec, by_variant, calculated, dots, hint, log_axis, rows_of_dots

TEXT = (
    "Filled: this report's frameworks. Hollow: published figures for the same number of neurons and time steps, each with its "
    "hardware. Other hardware, other versions, mostly other neurons and no proof: they show what was reported, and rank nothing. "
    "A cross marks a figure that is nominal: the code behind it does not compute what the label says."
)
PHASES = {"forward_s": "forward", "backward_s": "backward", "total_s": "step", "step_s": "step"}
"""Our phase beside each published metric. A total has no optimizer, our step has one that does the same work."""
ROW = 44
"""Height of a line, of three lines of text."""
COLUMNS = (
    *("source", "year", "system", "backend", "precision", "hardware", "workload", "ours"),
    *("batch", "time_steps", "neurons", "metric", "value", "unit", "where"),
)


@dataclass(frozen=True)
class Published:
    """A line of the file, and whether its source is known not to have done what its label says."""

    values: dict[str, str]

    @property
    def nominal(self) -> bool:
        return "NOMINAL" in self.values["where"]

    def size(self) -> tuple[str, str, str, str]:
        """(our workload, our phase, neurons, time steps); empty where nothing of ours is the same."""
        values = self.values
        return values["ours"], PHASES.get(values["metric"], ""), values["neurons"], values["time_steps"]


def read_published(path: Path) -> list[Published]:
    """The figures in a file like results/published/published.csv. Raises ConfigError."""
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            lines = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"--published {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not lines or {*COLUMNS} - set(lines[0]):
        raise ConfigError(f"--published {path}: must be a CSV file with the columns {', '.join(sorted(COLUMNS))}")
    return [Published(values) for values in lines]


def published(table: Table, figures: Sequence[Published]) -> Figure:
    """`figures` beside those of `table` that have the same workload, neurons and time steps."""
    theirs = grouped((one for one in figures if one.values["unit"] == "s" and all(one.size())), Published.size)
    panels = []
    for where, group in table.groups(("precision",)):
        case = group[0].values
        for phase in dict.fromkeys(PHASES.values()):
            same = theirs.get((case["workload"], phase, str(case["neurons"]), str(case["time_steps"])), [])
            ours = [entry for entry in group if entry.shows(phase)]
            if same and ours:
                panels.append(_panel(table, where | {"phase": phase}, phase, ours, same))
    missing = (
        "None of the published figures has a workload, a number of neurons and a number of time steps that were measured here."
    )
    return Figure("published", "Published figures, other hardware", TEXT, _spec(), panels, missing)


def _panel(table: Table, where: dict[str, str], phase: str, ours: list[Entry], theirs: list[Published]) -> Panel:
    points: list[dict[str, Any]] = [
        {"row": e.index, "ours": True, "name": f"{e.variant} {e.values['precision']}", "hardware": "here", "source": ""}
        for e in ours
    ]
    for figure in theirs:
        values = figure.values
        name = f"{values['system']}|{values['backend']}|{values['precision']}, {values['hardware']}"
        about = {"hardware": values["hardware"], "source": f"{values['source']} {values['year']}, batch {values['batch']}"}
        points.append({"name": name, "seconds": float(values["value"]), "ours": False, "nominal": figure.nominal, **about})
    order = list(dict.fromkeys(point["name"] for point in points))
    return panel_of(table, where, ours, {"seconds": f"{phase}_s"}, points, variants=order, row=ROW)


def _spec() -> Spec:
    remark = "datum.nominal ? 'nominal only' : ''"
    transform = calculated(time=TIME, whole_name="join(split(datum.name, '|'), ' ')", remark=remark)
    both = {
        "x": log_axis("seconds", "seconds per call", SECONDS),
        "y": by_variant("name", labelExpr="split(datum.label, '|')", labelLimit=175),
        "tooltip": hint(system="whole_name", time="time", hardware="hardware", source="source", remark="remark"),
    }
    shape = {"condition": {"test": "datum.nominal", "value": "cross"}, "value": "circle"}
    hollow = {"filled": False, "size": 60, "color": "$muted", "strokeWidth": 1.5, "opacity": 0.9}
    layers = [dots({**both, "shape": shape}, "!datum.ours", **hollow), dots(both, "datum.ours", size=90, color="$accent")]
    return rows_of_dots(layers, transform)
