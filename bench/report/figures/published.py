"""Other people's published figures beside ours: another machine, often another network, some only nominally of that size."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...common.mistakes import ConfigError, shown
from ...core.case import SIZES
from ...records.rows import grouped
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, panel_of
from .spec import SECONDS, Spec, by_variant, calculated, dots, hint, log_axis, rows_of_dots, text_of

TEXT = (
    "Filled: this report's frameworks. Hollow: published figures for the same workload and the sizes that their source names, "
    "each with its hardware. Other hardware, other versions, mostly other neurons and no proof: they show what was reported, and "
    "rank nothing. A cross marks a figure that is nominal: the code behind it does not do what the label says. Ratios are to "
    "each source's own baseline, ours to torch:vanilla, which calls every layer once for each step."
)
PHASES = {
    "forward_s": "forward",
    "backward_s": "backward",
    "total_s": "step",
    "step_s": "step",
    "gpu_time_s": "inference",
}
"""Our phase beside each published metric. A total has no optimizer, our step has one that does the same work."""
RATIOS = {
    "speedup_x": "speed",
    "speedup_min_x": "speed",
    "speedup_max_x": "speed",
    "mem_ratio_x": "memory",
}
"""What is compared with a baseline, of a step: how many times as fast, or the share of its memory."""
VANILLA = "torch:vanilla"
TITLES = {
    "s": "seconds per call",
    "speed": "times as fast as the baseline",
    "memory": "memory over the baseline's",
}
NORMS = {"norms": True, "no norms": False}
LABELS = f"unit === 's' ? {SECONDS} : format(datum.value, '.3~r') + '×'"
ROW = 44
"""Height of a line, of three lines of text."""
COLUMNS = (
    *("source", "year", "system", "backend", "precision", "hardware", "workload", "case"),
    *("batch", "time_steps", "neurons", "metric", "value", "unit", "where"),
)


@dataclass(frozen=True)
class Published:
    """A line of the file, and whether its source is known not to have done what its label says."""

    values: dict[str, str]

    @property
    def nominal(self) -> bool:
        return "NOMINAL" in self.values["where"]

    @property
    def quantity(self) -> tuple[str, str]:
        """What it says of a phase: ("s", "step"), or ("speed", "step") of a ratio; ("", "") of what is measured nowhere here."""
        unit, metric = self.values["unit"], self.values["metric"]
        if unit == "s" and metric in PHASES:
            return "s", PHASES[metric]
        return (RATIOS[metric], "step") if unit == "ratio" and metric in RATIOS else ("", "")

    @cached_property
    def cases(self) -> list[dict[str, Any]]:
        """Workload and sizes, by the fields of a case, of everything in `case`: `lif N=64 T=10; cifar-small W=8 no norms`. Raises
        ValueError."""
        return [_case(text) for text in filter(None, self.values["case"].split("; "))]

    def is_beside(self, case: dict[str, Any]) -> bool:
        """Whether a case with these values has one of the named workloads, and all that is named of it."""
        return any(all(case[field] == value for field, value in one.items()) for one in self.cases)


def _case(text: str) -> dict[str, Any]:
    letters = {letter: name for name, letter in SIZES.items()}
    found = re.fullmatch(
        rf"([\w-]+)((?: [{''.join(letters)}]=\d+)+)(?: ({'|'.join(NORMS)}))?", text
    )
    if found is None:
        raise ValueError(
            "must be a workload and its sizes, such as 'lif N=64 T=10' or 'cifar-small W=8 I=16 no norms'"
        )
    sizes = {letters[size[0]]: int(size[2:]) for size in found[2].split()}
    return {"workload": found[1], **sizes} | ({"norm": NORMS[found[3]]} if found[3] else {})


def read_published(path: Path) -> list[Published]:
    """The figures in a file like results/published/published.csv. Raises ConfigError."""
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            lines = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(
            f"--published {path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    if not lines or {*COLUMNS} - set(lines[0]):
        raise ConfigError(
            f"--published {path}: must be a CSV file with the columns {', '.join(sorted(COLUMNS))}"
        )
    for number, values in enumerate(lines, start=1):
        if missing := [column for column in COLUMNS if values[column] is None]:
            raise ConfigError(f"--published {path}: figure {number} has no {missing[0]}")
        _check(path, number, Published(values))
    return [Published(values) for values in lines]


def _check(path: Path, number: int, figure: Published) -> None:
    value, case = figure.values["value"], figure.values["case"]
    try:
        figure.cases  # noqa: B018  # reading is the check
    except ValueError as error:
        raise ConfigError(
            f"--published {path}: figure {number}: case = {shown(case)}: {error}"
        ) from None
    if not re.fullmatch(r"\d+(\.\d*)?([eE][+-]?\d{1,2})?", value) or (
        figure.quantity[0] and float(value) == 0
    ):
        raise ConfigError(
            f"--published {path}: figure {number}: value = {shown(value)}: must be a number above 0"
        )


def published(table: Table, figures: Sequence[Published]) -> Figure:
    """`figures` beside those of `table` that have the same workload and sizes."""
    theirs = grouped(
        (one for one in figures if one.quantity[0] and one.cases), lambda one: one.quantity
    )
    panels = []
    for where, group in table.groups(("precision",)):
        for (unit, phase), quantities in theirs.items():
            same = [one for one in quantities if one.is_beside(group[0].values)]
            ours = _ours(group, unit, phase) if same else []
            if ours:
                panels.append(_panel(table, where | {"phase": phase}, unit, ours, same))
    missing = "None of the published figures has the workload and the sizes of a case that was measured here."
    return Figure("published", "Published figures, other hardware", TEXT, _spec(), panels, missing)


def _ours(group: list[Entry], unit: str, phase: str) -> list[tuple[Entry, float]]:
    """Cases of ours with their values in a unit. Ratios are to torch:vanilla in the same precision, of memory in one meaning."""
    shown = [entry for entry in group if entry.shows(phase)]
    if unit == "s":
        return [(entry, entry.values[f"{phase}_s"]) for entry in shown]
    base = {entry.values["precision"]: entry.values for entry in shown if entry.variant == VANILLA}
    found = []
    for entry in shown:
        own, other = entry.values, base.get(entry.values["precision"], {})
        column = f"{phase}_s" if unit == "speed" else f"{phase}_peak_memory_bytes"
        alike = unit == "speed" or own["memory_meaning"] == other.get("memory_meaning")
        if alike and own[column] and other.get(column):
            ratio = own[column] / other[column]
            found.append((entry, 1 / ratio if unit == "speed" else ratio))
    return found


def _panel(
    table: Table,
    where: dict[str, str],
    unit: str,
    ours: list[tuple[Entry, float]],
    theirs: list[Published],
) -> Panel:
    points: list[dict[str, Any]] = []
    for entry, value in ours:
        name, own = (
            f"{entry.variant} {entry.values['precision']}",
            {} if unit == "s" else {"value": value},
        )
        points.append(
            {"row": entry.index, "ours": True, "name": name, "hardware": "here", "source": ""} | own
        )
    for figure in theirs:
        values = figure.values
        name = f"{values['system']}|{values['backend']}|{values['precision']}, {values['hardware']}"
        batch = f", batch {values['batch']}" if values["batch"] else ""
        about = {
            "hardware": values["hardware"],
            "source": f"{values['source']} {values['year']}{batch}: {values['workload']}",
        }
        points.append(
            {
                "name": name,
                "value": float(values["value"]),
                "ours": False,
                "nominal": figure.nominal,
                **about,
            }
        )
    order = list(dict.fromkeys(point["name"] for point in points))
    fields = {"value": f"{where['phase']}_s"} if unit == "s" else {}
    names: dict[str, Any] = {"unit": unit, "title": TITLES[unit], "variants": order, "row": ROW}
    return panel_of(
        table,
        where,
        [entry for entry, _ in ours],
        fields,
        points,
        before="" if unit == "s" else unit,
        **names,
    )


def _spec() -> Spec:
    remark = "datum.nominal ? 'nominal only' : ''"
    transform = calculated(
        text=text_of("value", LABELS), whole_name="join(split(datum.name, '|'), ' ')", remark=remark
    )
    both = {
        "x": log_axis("value", "$title", LABELS),
        "y": by_variant("name", labelExpr="split(datum.label, '|')", labelLimit=175),
        "tooltip": hint(
            system="whole_name",
            figure="text",
            hardware="hardware",
            source="source",
            remark="remark",
        ),
    }
    shape = {"condition": {"test": "datum.nominal", "value": "cross"}, "value": "circle"}
    hollow = {"filled": False, "size": 60, "color": "$muted", "strokeWidth": 1.5, "opacity": 0.9}
    layers = [
        dots({**both, "shape": shape}, "!datum.ours", **hollow),
        dots(both, "datum.ours", size=90, color="$accent"),
    ]
    return rows_of_dots(layers, transform, params=[{"name": "unit", "value": "$unit"}])
