"""Which case ended how, and why: what varies between cases, and the map of framework variants by conditions."""

from collections import Counter, defaultdict

from ..records.rows import Row, comparison_group
from ..status import RESULTS, RETRIED, STATUSES

AXES = {
    "neuron": lambda value: f"neuron {value.label()}",
    "workload": str,
    "device": str,
    "precision": str,
    "layers": lambda value: "1 layer" if value == 1 else f"{value} layers",
    "neurons": lambda value: f"N = {value}",
    "time_steps": lambda value: f"T = {value}",
    "batch": lambda value: f"B = {value}",
    "input": lambda value: "input of spikes" if value == "spikes" else f"{value} input",
    "bias": lambda value: "bias" if value else "no bias",
    "input_grad": lambda value: "input gradient" if value else "no input gradient",
    "seed": lambda value: f"seed {value}",
}
"""What may differ between comparison groups, and how a value of it is said."""

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
    "implausible": "refused: faster than the hardware allows",
    "check_failed": "refused: not the same network as the oracle's",
}
KINDS = {
    **dict.fromkeys(STATUSES, "refused"),
    **dict.fromkeys(RETRIED, "failed"),
    **dict.fromkeys(RESULTS, "limit"),
    **{"unsupported": "not-run", "pruned": "not-run", "ok": "ok"},
}
"""Colour of a status."""


class Conditions:
    """The comparison groups of some rows, in order, and how to name each by what tells it from the others."""

    def __init__(self, rows: list[Row]):
        described = {row.first.machine["hash"]: row.first.machine for row in rows}
        self.machines: dict[str, dict] = dict(sorted(described.items()))
        """Descriptions by hash; machine 1 is the first."""
        self.groups: dict[tuple, list[Row]] = defaultdict(list)
        self._key = {id(row): comparison_group(row) for row in rows}
        for row in rows:
            self.groups[self._key[id(row)]].append(row)
        self._index = {key: index for index, key in enumerate(self.groups, start=1)}
        self._parts = {key: self._said(group[0]) for key, group in self.groups.items()}
        axes = [*AXES, "threads", "machine"]
        self.varying_axes = [axis for axis in axes if len({parts[axis] for parts in self._parts.values()}) > 1]
        fixed = [axis for axis in axes if axis not in [*self.varying_axes, "machine"]]
        self.fixed = [next(iter(self._parts.values()))[axis] for axis in fixed] if rows else []

    def _said(self, row: Row) -> dict[str, str]:
        machine = f"machine {list(self.machines).index(row.first.machine['hash']) + 1}"
        count = row.first.measure["threads"]
        threads = {0: "all cores", 1: "1 core"}.get(count, f"{count} cores")
        said = {axis: say(getattr(row.case, axis)) for axis, say in AXES.items()}
        return said | {"threads": threads, "machine": machine}

    def index(self, row: Row) -> int:
        """Number of the row's comparison group, from 1."""
        return self._index[self._key[id(row)]]

    def parts(self, row: Row) -> dict[str, str]:
        """Every condition of the row's group in words, by axis."""
        return self._parts[self._key[id(row)]]

    def varying(self, row: Row) -> list[str]:
        return [self.parts(row)[axis] for axis in self.varying_axes]

    def short(self, row: Row) -> str:
        """What tells this row's group from the others; empty if there is one group only."""
        return " · ".join(self.varying(row))

    def full(self, row: Row) -> str:
        left_out = {"seed", "machine"} - set(self.varying_axes)
        return " · ".join(text for axis, text in self.parts(row).items() if axis not in left_out)

    def name(self, row: Row) -> str:
        return " · ".join([row.case.framework_variant, *self.varying(row)])


def reason_of(row: Row) -> str:
    """Why a row has no figures; empty if it has."""
    if row.reason or row.sound:
        return row.reason or ""
    if row.status != "ok":
        return MEANINGS.get(row.status, row.status)
    if not row.proved:
        return "the records hold no proof, so the times are withheld"
    return "there is no step time" if row.first.measure.get("timed", True) else "proved and weighed, as asked, and not timed"


def where(row: Row) -> str:
    """The parts of the case that ended with its status, and in which round: `forward, backward (round 2)`."""
    guilty = [record for record in row.records if record.status == row.status]
    parts = [name for record in guilty for name, part in record.parts.items() if part.status == row.status]
    rounds = f"round {guilty[0].round + 1}" if guilty and guilty[0].round else ""
    names = ", ".join(dict.fromkeys(parts))
    return f"{names} ({rounds})" if names and rounds else names or rounds


def coverage(rows: list[Row], conditions: Conditions) -> dict:
    """The map (heads, lines of cells), the legend of what occurs in it, and the list of what is not ranked."""
    cells: dict[str, dict[int, dict]] = defaultdict(dict)
    for row in rows:
        word = row.status if row.status != "ok" or row.sound else "ok, not ranked"
        said = ": ".join(filter(None, (conditions.name(row), word, reason_of(row))))
        kind = KINDS[row.status] if word == row.status else "limit"
        cells[row.case.framework_variant][conditions.index(row)] = {"word": word, "kind": kind, "rank": row.rank, "title": said}
    firsts = [group[0] for group in conditions.groups.values()]
    counts = Counter(row.status for row in rows)
    return {
        "heads": [{"parts": conditions.varying(row) or ["all cases"], "index": conditions.index(row)} for row in firsts],
        "lines": [(variant, [line.get(conditions.index(row)) for row in firsts]) for variant, line in sorted(cells.items())],
        "legend": [
            {"status": status, "kind": KINDS[status], "meaning": MEANINGS.get(status, ""), "count": counts[status]}
            for status in STATUSES
            if counts[status]
        ],
        "endings": _endings([row for row in rows if not row.sound], conditions),
    }


def _endings(rows: list[Row], conditions: Conditions) -> list[dict]:
    """One entry for all cases of a framework variant that ended alike, each case by its condition."""
    alike: dict[tuple, list[list[str]]] = defaultdict(list)
    for row in rows:
        alike[row.case.framework_variant, row.status, where(row), reason_of(row)].append(conditions.varying(row))
    return [
        {
            "variant": variant,
            "status": status,
            "kind": KINDS[status] if status != "ok" else "limit",
            "where": part,
            "reason": reason,
            "conditions": [condition for condition in found if condition],
        }
        for (variant, status, part, reason), found in alike.items()
    ]
