"""Pairs of committed cases that a claim speaks of: their figures with the intervals of the tables, conditions and quality."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from snnbench.common import units
from snnbench.records.contrasts import compared
from snnbench.records.pairing import contrasts
from snnbench.report.columns.metric import Entry
from snnbench.report.coverage import FLAGS
from snnbench.report.table import Table

UNSAID = {
    "device",
    "layers",
    "input",
    "bias",
    "input_grad",
    "seed",
    "loaders",
    "pinned",
    "augment",
    "machine",
}
"""Conditions that are the same in all committed sets, or that decide no claim; the machine goes by its name."""


@dataclass(frozen=True)
class Pair:
    """Two proved cases of one comparison group."""

    ours: Entry
    theirs: Entry


@dataclass(frozen=True)
class Shown:
    """A figure of a pair with its 95 % interval; without one, both ends are the figure."""

    pair: Pair
    figure: float
    low: float
    high: float

    @property
    def text(self) -> str:
        return (
            units.ratio(self.figure, self.low, self.high)
            if self.low < self.high
            else units.ratio(self.figure)
        )


def pairs_of(table: Table, how: dict[str, Any]) -> list[Pair]:
    """All pairs of `ours` with one of `theirs` under the conditions `case`. Raises AssertionError if one of `theirs` has none."""
    names = [how["theirs"]] if isinstance(how["theirs"], str) else how["theirs"]
    found = []
    for _, group in table.comparison_groups():
        sound = {
            e.variant: e
            for e in group
            if e.row.sound and all(e.values[key] == v for key, v in how["case"].items())
        }
        if how["ours"] in sound:
            found += [Pair(sound[how["ours"]], sound[name]) for name in names if name in sound]
    missing = {*names} - {pair.theirs.variant for pair in found}
    assert not missing, (
        f"{how['set']}: no proved pair of {how['ours']} with {sorted(missing)} at {how['case']}"
    )
    return found


def times(table: Table, pairs: Sequence[Pair], phase: str) -> list[Shown]:
    """How many times as fast ours is as theirs. Variances are drawn together as in the tables: over the ratios to the fastest of
    all comparison groups; a pair without its group's fastest is added to these."""
    family, places, slots = [], {}, {}
    for _, group in table.comparison_groups():
        ranked = [entry for entry in group if entry.row.standing]
        if not ranked:
            continue
        logs = contrasts([entry.row.records for entry in ranked], phase)
        best = min(range(len(ranked)), key=lambda at: ranked[at].row.standing.place)
        slots |= {entry.index: (logs, at) for at, entry in enumerate(ranked)}
        for at, entry in enumerate(ranked):
            if at != best:
                places[ranked[best].index, entry.index] = len(family)
                family.append(logs[at, best])
    found = []
    for pair in pairs:
        (logs, first), (_, second) = slots[pair.ours.index], slots[pair.theirs.index]
        place = places.get((pair.ours.index, pair.theirs.index))
        known = (
            compared(family)[place]
            if place is not None
            else compared([*family, logs[second, first]])[-1]
        )
        found.append(Shown(pair, *map(exp, (known.estimate, known.low, known.high))))
    return found


def shares(pairs: Sequence[Pair], how: dict[str, Any]) -> list[Shown]:
    """Our bytes over theirs: of a step's memory (`memory`), or of a column (`kept`)."""
    column = f"step_{how['memory']}_bytes" if "memory" in how else how["kept"]
    return [
        Shown(pair, *[pair.ours.values[column] / pair.theirs.values[column]] * 3) for pair in pairs
    ]


def conditions_of(entries: Sequence[Entry]) -> str:
    """Every condition in words, all its values where there are several, and the machine by its name.

    `neuron hard · lif · fp32 · N = 512 · T = 2, 8, 32 · B = 16 · 1 core · AMD EPYC`
    """
    axes = dict.fromkeys(axis for entry in entries for axis in entry.parts if axis not in UNSAID)
    said = [
        _joined([entry.parts[axis] for entry in entries if axis in entry.parts]) for axis in axes
    ]
    return " · ".join([*said, _joined([entry.values["machine_name"] for entry in entries])])


def differing(entry: Entry, among: Sequence[Entry]) -> list[str]:
    """The conditions of `entry` that not all of `among` share."""
    return [
        text
        for axis, text in entry.parts.items()
        if axis not in UNSAID and len({e.parts.get(axis) for e in among}) > 1
    ]


def _joined(texts: Sequence[str]) -> str:
    """`T = 2` and `T = 8` → `T = 2, 8`."""
    first, *others = dict.fromkeys(texts)
    head, equals, _ = first.partition(" = ")
    return ", ".join(
        [first, *(text.removeprefix(head + equals) if equals else text for text in others)]
    )


def quality_of(pairs: Sequence[Pair]) -> str:
    """How many blocks the pairs have, and all remarks on their times."""
    entries = [entry for pair in pairs for entry in (pair.ours, pair.theirs)]
    blocks = sorted({entry.values["blocks"] for entry in entries})
    flags = [
        short
        for name, (short, _) in FLAGS.items()
        if any(name in entry.row.quality for entry in entries)
    ]
    return ", ".join(
        [f"{'–'.join(map(str, dict.fromkeys((blocks[0], blocks[-1]))))} blocks", *flags]
    )
