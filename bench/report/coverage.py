"""The endings of cases: conditions that vary, and the map of variants by conditions."""

from collections import Counter, defaultdict
from typing import Any

from ..core.status import STATUSES
from ..records.rows import Row, comparison_group, grouped, machine_of
from ..schema import Machine
from .words import (
    CONDITIONS,
    KINDS,
    MEANINGS,
    OWN_NEURON,
    UNRANKED,
    axis_of,
    cores_text,
    kind_of,
    rank_of,
    reason_of,
    recordings_text,
)

APPENDED = ("machine", "recordings")
"""Conditions that the appendix describes."""


class Conditions:
    """The comparison groups of rows, in order, and names from what distinguishes each group."""

    def __init__(self, rows: list[Row]):
        machines = {machine_of(row.first): row.first.machine for row in rows}
        self.machines: dict[tuple[str, str], Machine] = dict(sorted(machines.items()))
        """Descriptions by kind and node; machine 1 is the first."""
        self.groups = list(grouped(rows, comparison_group).values())
        in_words = [(group, self._in_words(group[0])) for group in self.groups]
        self._parts = {id(row): parts for group, parts in in_words for row in group}
        axes = (*CONDITIONS, "threads", *APPENDED, "ranked_by", "loosened")
        texts = {axis: {parts.get(axis) for _, parts in in_words} for axis in axes}
        self.varying_axes = [axis for axis in texts if len(texts[axis]) > 1]
        same = [
            next(iter(texts[axis]))
            for axis in texts
            if len(texts[axis]) == 1 and axis not in APPENDED
        ]
        self.fixed = [text for text in same if text is not None]

    def _in_words(self, row: Row) -> dict[str, str]:
        machine = f"machine {list(self.machines).index(machine_of(row.first)) + 1}"
        threads = cores_text(row.first.measure["threads"])
        parts = {axis: axis_of(axis).say(row.axes[axis]) for axis in CONDITIONS if axis in row.axes}
        loosened = {"loosened": f"proved with {', '.join(row.loosened)}"} if row.loosened else {}
        read = row.first.recordings
        recordings = {"recordings": recordings_text(read)} if read else {}
        ranked = {"ranked_by": f"ranked by {row.ranked}"} if row.ranked != "step" else {}
        return parts | {"threads": threads, "machine": machine} | recordings | ranked | loosened

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
        """Returns all conditions of the row's group; seed, machine and recordings only if they
        vary."""
        left_out = {"seed", *APPENDED} - set(self.varying_axes)
        return " · ".join(text for axis, text in self.parts(row).items() if axis not in left_out)

    def name(self, row: Row) -> str:
        """Returns the framework variant with the distinguishing conditions of its group."""
        return " · ".join([row.case.framework_variant, *self.varying(row)])


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
    names = ", ".join(dict.fromkeys(parts))
    blocks = f"block {guilty[0].block + 1}" if guilty and guilty[0].block else ""
    return f"{names} ({blocks})" if names and blocks else names or blocks


def coverage(rows: list[Row], conditions: Conditions) -> dict[str, Any]:
    """Returns the map (heads, lines of cells), its legend, and the list of unranked cases."""
    cells: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for index, group in enumerate(conditions.groups):
        for row in group:
            reason = reason_of(row) or OWN_NEURON * row.case.native
            title = ": ".join(filter(None, (conditions.name(row), _word(row), reason)))
            cell = {"word": _word(row), "kind": kind_of(row), "rank": rank_of(row), "title": title}
            cells[row.case.framework_variant][index] = cell
    words = {status: (KINDS[status], MEANINGS[status]) for status in STATUSES}
    words[UNRANKED] = ("limit", "compared with no other")
    counts = Counter(map(_word, rows))
    return {
        "heads": [conditions.varying(group[0]) or ["all cases"] for group in conditions.groups],
        "lines": [
            (name, [line.get(index) for index in range(len(conditions.groups))])
            for name, line in sorted(cells.items())
        ],
        "legend": [(word, *words[word], counts[word]) for word in words if counts[word]],
        "endings": _endings([row for row in rows if not row.sound], conditions),
    }


def _word(row: Row) -> str:
    return UNRANKED if row.status == "ok" and not row.rankable else row.status


def _endings(rows: list[Row], conditions: Conditions) -> list[dict[str, Any]]:
    """Returns one entry for all cases of a variant that ended alike, with each case's condition."""
    alike = grouped(
        rows, lambda row: (row.case.framework_variant, row.status, where(row), reason_of(row))
    )
    endings = []
    for (variant, status, part, reason), members in alike.items():
        ending = {"variant": variant, "status": status, "kind": kind_of(members[0])}
        varying = list(filter(None, map(conditions.varying, members)))
        endings.append({**ending, "where": part, "reason": reason, "conditions": varying})
    return endings
