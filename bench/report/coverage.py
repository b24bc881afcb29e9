"""The endings of cases: conditions that vary, and the map of variants by conditions."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from ..common.units import counted
from ..core.case import Case
from ..core.status import RESULTS, RETRIED, STATUSES
from ..records.rows import VARIANT, Row, comparison_group, grouped, machine_of
from ..schema import Machine


@dataclass(frozen=True)
class Axis:
    """A condition of comparison groups: heading, words for a value, and unit of a number."""

    head: str
    say: Callable[[Any], str] = str
    unit: str = ""


AXES = {
    "neuron": Axis("neuron", lambda value: f"neuron {value.label()}"),
    "workload": Axis("workload"),
    "network": Axis("network"),
    "device": Axis("device"),
    "precision": Axis("precision"),
    "layers": Axis("layers", lambda value: counted(value, "layer"), unit="count"),
    "neurons": Axis("N", lambda value: f"N = {value}", unit="count"),
    "time_steps": Axis("T", lambda value: f"T = {value}", unit="count"),
    "batch": Axis("B", lambda value: f"B = {value}", unit="count"),
    "width": Axis("width", lambda value: f"width {value}", unit="count"),
    "image": Axis("image", lambda value: f"{value} × {value} pixels", unit="count"),
    "classes": Axis("classes", lambda value: f"{value} classes", unit="count"),
    "norm": Axis("norm", lambda value: "norms" if value else "no norms"),
    "input": Axis(
        "input", lambda value: "input of spikes" if value == "spikes" else f"{value} input"
    ),
    "firing": Axis(
        "input firing", lambda value: f"{100 * value:g} % of the input fires", unit="share"
    ),
    "bias": Axis("bias", lambda value: "bias" if value else "no bias"),
    "input_grad": Axis(
        "input gradient", lambda value: "input gradient" if value else "no input gradient"
    ),
    "dataset": Axis("data set"),
    "samples": Axis("samples", lambda value: f"{value:,} samples", unit="count"),
    "loaders": Axis("loaders", lambda value: counted(value, "loader"), unit="count"),
    "pinned": Axis("pinned", lambda value: "pinned" if value else "not pinned"),
    "augment": Axis("augment", lambda value: "augmented" if value else "not augmented"),
    "behind": Axis("behind", lambda value: f"{value} behind"),
    "loss": Axis("loss", lambda value: f"loss {value}" if value else "a given gradient"),
    "optimizer": Axis("optimizer", lambda value: value or "plain descent"),
    "parallel": Axis("parallel", lambda value: f"{value} parallel"),
    "ranks": Axis("ranks", lambda value: f"{value} ranks", unit="count"),
    "seed": Axis("seed", lambda value: f"seed {value}", unit="count"),
}
"""Conditions among the fields of a case, in order; any other field goes by its own name."""

CASE_FIELDS = [field.name for field in fields(Case)]
CONDITIONS = [*AXES, *(name for name in CASE_FIELDS if name not in (*AXES, *VARIANT))]
"""Fields of a case that do not belong to the framework."""


def axis_of(name: str) -> Axis:
    """Returns the condition of the field `name` of a case."""
    words = name.replace("_", " ")
    return AXES.get(name) or Axis(words, lambda value: f"{words} {value}")


MEANINGS = {
    "ok": "proved and measured",
    "unsupported": "the framework cannot do this, or not this network",
    "pruned": "not tried: a smaller case ran out of memory or time",
    "oom_gpu": "GPU memory ran out",
    "oom_host": "host memory ran out",
    "timeout": "took longer than the time allowed",
    "interrupted": "the run was stopped",
    "env_error": "the framework is not installed",
    "import_error": "the framework cannot be imported",
    "build_error": "the network cannot be built",
    "crash": "the process died",
    "error": "the framework raised an error",
    "implausible": "refused: the time cannot be true, for the reason given with the case",
    "check_failed": "refused: not the network of the oracle, or not the frames of the recordings",
}
KINDS = {
    **dict.fromkeys(STATUSES, "refused"),
    **dict.fromkeys(RETRIED, "failed"),
    **dict.fromkeys(RESULTS, "limit"),
    **{"unsupported": "not-run", "pruned": "not-run", "ok": "ok"},
}
"""Colour classes of statuses."""
REFUSED = ("check_failed", "implausible")
"""Statuses of wrong networks or times, whose figures are not shown."""
UNRANKED = "ok, not ranked"
OWN_NEURON = "the framework's own neuron, which no other computes"
FLAGS = {
    "few_blocks": (
        "few blocks",
        "fewer than 3 blocks counted: how much blocks differ is hardly known",
    ),
    "disturbed": (
        "disturbed",
        "more than 20 % of the timed slots were disturbed; they do not count",
    ),
    "preempted": ("preempted", "for more than 5 % of the time another process had the core"),
    "drift": (
        "drift",
        "the time changed by more than 5 % within a block; what was timed beside it shares that",
    ),
    "shared_cpu": ("shared CPU", "other programs used more than a quarter of a core meanwhile"),
    "throttled": ("throttled", "the GPU slowed itself down meanwhile, by heat or its power limit"),
    "unsteady": (
        "unsteady machine",
        "a task that is always the same changed its time by more than 8 % meanwhile",
    ),
    "phases_disagree": (
        "phases disagree",
        (
            "a step took surely less than its own forward or backward: the machine changed, or a "
            "whole step compiles better"
        ),
    ),
    "interrupted": (
        "interrupted",
        "a later block was interrupted and does not count; the same command goes on with it",
    ),
}
"""A short and a long text for each flag of `Row.quality`."""


class Conditions:
    """The comparison groups of rows, in order, and names from what distinguishes each group."""

    def __init__(self, rows: list[Row]):
        machines = {machine_of(row.first): row.first.machine for row in rows}
        self.machines: dict[tuple[str, str], Machine] = dict(sorted(machines.items()))
        """Descriptions by kind and node; machine 1 is the first."""
        self.groups = list(grouped(rows, comparison_group).values())
        in_words = [(group, self._in_words(group[0])) for group in self.groups]
        self._parts = {id(row): parts for group, parts in in_words for row in group}
        axes = (*CONDITIONS, "threads", "machine", "loosened")
        texts = {axis: {parts.get(axis) for _, parts in in_words} for axis in axes}
        self.varying_axes = [axis for axis in texts if len(texts[axis]) > 1]
        same = [
            next(iter(texts[axis])) for axis in texts if len(texts[axis]) == 1 and axis != "machine"
        ]
        self.fixed = [text for text in same if text is not None]

    def _in_words(self, row: Row) -> dict[str, str]:
        machine = f"machine {list(self.machines).index(machine_of(row.first)) + 1}"
        count = row.first.measure["threads"]
        threads = {0: "all cores", 1: "1 core"}.get(count, f"{count} cores")
        parts = {axis: axis_of(axis).say(row.axes[axis]) for axis in CONDITIONS if axis in row.axes}
        loosened = {"loosened": f"proved with {', '.join(row.loosened)}"} if row.loosened else {}
        return parts | {"threads": threads, "machine": machine} | loosened

    def parts(self, row: Row) -> dict[str, str]:
        """Returns the conditions of the row's group in words, by axis, without axes its workload
        lacks."""
        return self._parts[id(row)]

    def varying(self, row: Row) -> list[str]:
        """Returns the conditions of the row's group that other groups do not share."""
        return [self.parts(row)[axis] for axis in self.varying_axes if axis in self.parts(row)]

    def short(self, row: Row) -> str:
        """Returns the distinguishing conditions of the row's group in one text, empty for a single
        group."""
        return " · ".join(self.varying(row))

    def full(self, row: Row) -> str:
        """Returns all conditions of the row's group; seed and machine only if they vary."""
        left_out = {"seed", "machine"} - set(self.varying_axes)
        return " · ".join(text for axis, text in self.parts(row).items() if axis not in left_out)

    def name(self, row: Row) -> str:
        """Returns the framework variant with the distinguishing conditions of its group."""
        return " · ".join([row.case.framework_variant, *self.varying(row)])


def reason_of(row: Row) -> str:
    """Returns why a row has no figures, empty if it has."""
    if row.reason or row.sound:
        return row.reason or ""
    if row.status != "ok":
        return MEANINGS[row.status]
    if not row.proved:
        return "the records hold no proof, so the times are withheld"
    return (
        "there is no step time"
        if row.first.measure.get("timed", True)
        else "proved and weighed, as asked, and not timed"
    )


def kind_of(row: Row) -> str:
    """Returns the colour class of a row's status; `ok` is green only if the row is ranked."""
    return "limit" if row.status == "ok" and not row.rankable else KINDS[row.status]


def where(row: Row) -> str:
    """Returns the parts of a failed case with its status, and the block: `forward, backward (block
    2)`."""
    if row.status == "ok":
        return ""
    guilty = [record for record in row.records if record.status == row.status]
    parts = (
        name
        for record in guilty
        for name, part in record.parts.items()
        if part.status == row.status
    )
    names, blocks = (
        ", ".join(dict.fromkeys(parts)),
        f"block {guilty[0].block + 1}" if guilty and guilty[0].block else "",
    )
    return f"{names} ({blocks})" if names and blocks else names or blocks


def rank_of(row: Row) -> str:
    """Returns a row's ranks, `2` or `1–3`, with `=` if it ties with the best; empty if unranked."""
    if row.standing is None:
        return ""
    best, worst = row.standing.best, row.standing.worst
    return "=" * row.standing.tied + (f"{best}–{worst}" if best < worst else str(best))


def remarks_on(row: Row) -> str:
    """Returns the flags of a row with a step time in short words, and its share of disturbed
    slots."""
    if not row.sound:
        return ""
    share = row.disturbed_share or 0.0
    words = [FLAGS[flag][0] for flag in row.quality if flag != "disturbed"]
    return ", ".join(
        words + ([row.unclean] if row.unclean else [f"{share:.0%} disturbed"] * (share >= 0.01))
    )


def coverage(rows: list[Row], conditions: Conditions) -> dict[str, Any]:
    """Returns the map (heads, lines of cells), its legend, and the list of unranked cases."""
    cells: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for index, row in (
        (index, row) for index, group in enumerate(conditions.groups) for row in group
    ):
        word = UNRANKED if row.status == "ok" and not row.rankable else row.status
        title = ": ".join(
            filter(
                None, (conditions.name(row), word, reason_of(row) or OWN_NEURON * row.case.native)
            )
        )
        cell = {"word": word, "kind": kind_of(row), "rank": rank_of(row), "title": title}
        cells[row.case.framework_variant][index] = cell
    words = {status: (KINDS[status], MEANINGS[status]) for status in STATUSES} | {
        UNRANKED: ("limit", "compared with no other")
    }
    counts = Counter(
        UNRANKED if row.status == "ok" and not row.rankable else row.status for row in rows
    )
    return {
        "heads": [conditions.varying(group[0]) or ["all cases"] for group in conditions.groups],
        "lines": [
            (name, [line.get(index) for index in range(len(conditions.groups))])
            for name, line in sorted(cells.items())
        ],
        "legend": [(word, *words[word], counts[word]) for word in words if counts[word]],
        "endings": _endings([row for row in rows if not row.sound], conditions),
    }


def _endings(rows: list[Row], conditions: Conditions) -> list[dict[str, Any]]:
    """Returns one entry for all cases of a variant that ended alike, with each case's condition."""
    alike = grouped(
        rows, lambda row: (row.case.framework_variant, row.status, where(row), reason_of(row))
    )
    endings = []
    for (variant, status, part, reason), members in alike.items():
        ending = {
            "variant": variant,
            "status": status,
            "kind": kind_of(members[0]),
            "where": part,
            "reason": reason,
        }
        endings.append(
            {**ending, "conditions": list(filter(None, map(conditions.varying, members)))}
        )
    return endings
