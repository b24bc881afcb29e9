"""Compares pairs of committed cases for a claim, with the intervals of the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from snnbench.common import units
from snnbench.records.contrasts import compared
from snnbench.records.pairing import contrasts
from snnbench.report.columns.metric import Entry
from snnbench.report.table import Table
from snnbench.report.words import FLAGS

OMITTED = {
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
"""Conditions that all committed sets share or that decide no claim, and the machine's hash."""


@dataclass(frozen=True)
class Pair:
    """Two proved cases of one comparison group."""

    ours: Entry
    theirs: Entry


@dataclass(frozen=True)
class Shown:
    """The ratio of a pair with its 95 % interval, or both ends equal to the ratio."""

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
    """Returns all pairs of `ours` with `theirs` under the conditions `case`.

    Raises AssertionError if one of `theirs` has no pair.
    """
    names = [how["theirs"]] if isinstance(how["theirs"], str) else how["theirs"]
    matches = []
    for _, group in table.comparison_groups():
        sound = {
            e.variant: e
            for e in group
            if e.row.sound and all(e.values[key] == v for key, v in how["case"].items())
        }
        if how["ours"] in sound:
            matches += [Pair(sound[how["ours"]], sound[name]) for name in names if name in sound]
    missing = {*names} - {pair.theirs.variant for pair in matches}
    assert not missing, (
        f"{how['set']}: no proved pair of {how['ours']} with {sorted(missing)} at {how['case']}"
    )
    return matches


def times(table: Table, pairs: Sequence[Pair], phase: str) -> list[Shown]:
    """Returns how many times as fast ours is as theirs.

    Variances are pooled as in the tables, over the ratios to the fastest of all comparison groups.
    A pair without its group's fastest is added to these.
    """
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
    ratios = []
    for pair in pairs:
        (logs, first), (_, second) = slots[pair.ours.index], slots[pair.theirs.index]
        place = places.get((pair.ours.index, pair.theirs.index))
        known = (
            compared(family)[place]
            if place is not None
            else compared([*family, logs[second, first]])[-1]
        )
        ratios.append(Shown(pair, *map(exp, (known.estimate, known.low, known.high))))
    return ratios


def shares(pairs: Sequence[Pair], how: dict[str, Any]) -> list[Shown]:
    """Returns our bytes over theirs, of a step's memory (`memory`) or of a column (`kept`)."""
    column = f"step_{how['memory']}_bytes" if "memory" in how else how["kept"]
    return [
        Shown(pair, *[pair.ours.values[column] / pair.theirs.values[column]] * 3) for pair in pairs
    ]


def conditions_of(entries: Sequence[Entry]) -> str:
    """Returns every condition in words with all its values, and the name of the machine.

    `neuron hard · lif · fp32 · N = 512 · T = 2, 8, 32 · B = 16 · 1 core · AMD EPYC`
    """
    axes = dict.fromkeys(axis for entry in entries for axis in entry.parts if axis not in OMITTED)
    said = [
        _joined([entry.parts[axis] for entry in entries if axis in entry.parts]) for axis in axes
    ]
    return " · ".join([*said, _joined([entry.values["machine_name"] for entry in entries])])


def differing(entry: Entry, among: Sequence[Entry]) -> list[str]:
    """Returns the conditions of `entry` that not all of `among` share."""
    return [
        text
        for axis, text in entry.parts.items()
        if axis not in OMITTED and len({e.parts.get(axis) for e in among}) > 1
    ]


def _joined(texts: Sequence[str]) -> str:
    """Joins values of one axis: `T = 2` and `T = 8` → `T = 2, 8`."""
    first, *others = dict.fromkeys(texts)
    head, equals, _ = first.partition(" = ")
    return ", ".join(
        [first, *(text.removeprefix(head + equals) if equals else text for text in others)]
    )


def quality_of(pairs: Sequence[Pair]) -> str:
    """Returns the number of blocks of the pairs and all remarks on their times."""
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
