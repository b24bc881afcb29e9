"""Compares two result sets, or two variants in one: statuses, proofs, memory, and all times."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np

from ..common import units
from ..common.mistakes import ConfigError, nearest
from ..core.case import PHASES, full_name
from ..core.variant import VARIANT_FIELDS
from .changes import NOISE, Change, Pair, Rule, changes
from .findings import Finding, findings
from .pairing import contrasts
from .rows import Row, comparison_group, grouped
from .sides import Side, canary_ratio, doubts, side_of
from .stored import RowPair, common_shift, stored_pairs

STORED = Rule(changed=1.10, same=1.10)
"""Rule for sets that were measured at different times on one machine."""
OTHER_MACHINE = Rule(changed=NOISE, same=NOISE)
"""Rule for ratios within each run, between machines."""
PAIRED = Rule(changed=1.03, same=1.05)
"""Rule for variants that were alive together."""


@dataclass
class Comparison:
    """The result of a comparison. `cases` are on both sides; `timed` of them have times on both.

    `times` says how times are compared: absolute, relative or paired. `names` are those of the
    sides. `shift` is the ratio that the times of all cases have in common, `canary` the ratio
    of a constant task; both are None for variants of one set. `doubts` are sentences about the
    whole sets, mostly on why no time may be called changed.
    """

    cases: int
    timed: int
    times: str
    base: Side
    new: Side
    names: tuple[str, str] = ("base", "new")
    shift: float | None = None
    canary: float | None = None
    versions: list[str] = field(default_factory=list)
    """Frameworks with different versions on the two sides."""
    doubts: list[str] = field(default_factory=list)
    only_base: list[str] = field(default_factory=list)
    """Names of cases that the new side lacks: neither better nor worse."""
    only_new: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def worse(self) -> bool:
        return any(each.verdict == "worse" for each in self.findings) or bool(self.of("slower"))

    @property
    def undecided(self) -> bool:
        """True if a case of the base is missing, or it is unknown whether its times changed."""
        return bool(self.doubts or self.only_base or self.of("ambiguous", "unsure"))

    def of(self, *verdicts: str) -> list[Change]:
        return [each for each in self.changes if each.verdict in verdicts]


def compare_sets(
    base: list[Row], new: list[Row], factor: float | None = None, relative: bool = False
) -> Comparison:
    """Compares two sets that were measured at different times; cases are joined by their ids.

    Between machines, or if `relative` is set, only ratios within each run are compared. `factor`
    replaces the one of STORED or OTHER_MACHINE. Raises ConfigError for a set of several machines.
    """
    same_machine = not relative and _machines(base) == _machines(new)
    for rows, name in ((base, "the first set"), (new, "the second set")):
        if not same_machine and len(_machines(rows)) > 1:
            raise ConfigError(
                f"{name} is of several machines: compare sets of one machine, or of the same ones"
            )
    old_by_key, by_key = _newest(base, same_machine), _newest(new, same_machine)
    pairs = [(row, by_key[key]) for key, row in old_by_key.items() if key in by_key]
    rule = (STORED if same_machine else OTHER_MACHINE).or_factor(factor)
    timed = _timed(pairs)
    times = list(chain.from_iterable(stored_pairs(timed, phase, same_machine) for phase in PHASES))
    order = {full_name(old.case): place for place, (old, _) in reversed([*enumerate(timed)])}
    times.sort(key=lambda pair: order[pair.case])
    how = "absolute" if same_machine else "relative"
    names = "the base", "the new set"
    comparison = _comparison(how, pairs, times, rule, same_machine, names)
    comparison.only_base = _beyond(old_by_key, by_key)
    comparison.only_new = _beyond(by_key, old_by_key)
    comparison.versions = _versions(pairs)
    read = [{old.first.recordings, now.first.recordings} for old, now in pairs]
    if others := sum(len(each - {None}) > 1 for each in read):
        comparison.doubts.append(f"{units.counted(others, 'case')} read other recordings")
    comparison.shift = common_shift(timed) if times else None
    if same_machine:
        comparison.canary = canary_ratio(comparison.base, comparison.new)
        shift = comparison.shift
        if shift and _only_the_cases(shift, comparison.canary, rule):
            doubt = f"most cases took {units.ratio(shift)} their time, the canary did not"
            comparison.doubts.append(doubt)
    return comparison


def compare_variants(
    rows: list[Row], base: str, new: str, factor: float | None = None
) -> Comparison:
    """Compares two framework variants of one set in each comparison group, pass by pass if
    possible. Both may name values of axes, `tonic:naive,behind=sinabs`; groups that differ in these
    axes only are one then, and its times those of STORED, because they were not alive together.

    `factor` replaces the one of PAIRED or STORED. Raises ConfigError for a variant, an axis or a
    value that the set lacks, and for sides with different axes.
    """
    sides = [_side(text, rows, f"--pair {base} {new}") for text in (base, new)]
    axes = {*sides[0].axes}
    if axes != {*sides[1].axes}:
        raise ConfigError(f"--pair {base} {new}: both sides must name the same axes")
    pairs, times, only_base, only_new = list[RowPair](), list[Pair](), list[str](), list[str]()
    for group in grouped(rows, partial(comparison_group, apart=axes)).values():
        old, now = (next(filter(side.has, group), None) for side in sides)
        if old and now:
            pairs.append((old, now))
            times += _paired(group, old, now)
        elif old:
            only_base.append(full_name(old.case))
        elif now:
            only_new.append(full_name(now.case))
    names, rule = (base, new), (STORED if axes else PAIRED).or_factor(factor)
    comparison = _comparison("paired", pairs, times, rule, False, names)
    comparison.names, comparison.only_base, comparison.only_new = names, only_base, only_new
    return comparison


@dataclass(frozen=True)
class _Side:
    """A framework variant with values of axes, each in lower case."""

    variant: str
    axes: Mapping[str, str]

    def has(self, row: Row) -> bool:
        return row.case.framework_variant == self.variant and all(
            _text(row, name) == value for name, value in self.axes.items()
        )


def _side(text: str, rows: list[Row], about: str) -> _Side:
    """Reads `tonic:naive,behind=sinabs`. Raises ConfigError for what `rows` lack."""
    variant, *conditions = (part.strip() for part in text.split(","))
    _must_be_known(variant, [row.case.framework_variant for row in rows], about)
    of_variant, axes = [row for row in rows if row.case.framework_variant == variant], {}
    for condition in conditions:
        name, equals, value = (part.strip() for part in condition.partition("="))
        if not equals:
            raise ConfigError(f"{about}: {condition!r} must look like batch=16")
        names = [name for row in of_variant for name in row.axes if name not in VARIANT_FIELDS]
        _must_be_known(name, names, about)
        values = [_text(row, name) for row in of_variant if name in row.axes]
        _must_be_known(value.lower(), values, f"{about}: {name}")
        axes[name] = value.lower()
    return _Side(variant, axes)


def _must_be_known(name: str, names: Iterable[str], about: str) -> None:
    known = sorted({*names})
    if name not in known:
        hint = f"{nearest(name, known)} (there are {', '.join(known)})"
        raise ConfigError(f"{about}: there is no {name}{hint}")


def _text(row: Row, axis: str) -> str:
    value = row.axes.get(axis)
    return (row.case.neuron_label or "" if axis == "neuron" else str(value)).lower()


def _comparison(
    times: str,
    pairs: list[RowPair],
    phases: list[Pair],
    rule: Rule,
    same_machine: bool,
    names: tuple[str, str],
) -> Comparison:
    timed, count = _timed(pairs), len({each.case for each in phases})
    sides = side_of([old for old, _ in timed]), side_of([now for _, now in timed])
    reasons = doubts(*sides, same_machine, names)
    comparison = Comparison(len(pairs), count, times, *sides, doubts=reasons)
    comparison.findings = list(chain.from_iterable(findings(old, now) for old, now in pairs))
    comparison.changes = changes(phases, rule, "disturbed" if reasons else "")
    return comparison


def _paired(group: Sequence[Row], old: Row, now: Row) -> list[Pair]:
    """Returns contrasts, through other cases of the group if the two share no pass."""
    phases, at = [], (group.index(now), group.index(old))
    for phase in PHASES if _timed([(old, now)]) else ():
        if phase in old.estimates and phase in now.estimates:
            seconds = old.estimates[phase].seconds, now.estimates[phase].seconds
            values = contrasts([row.records for row in group], phase)[at]
            plain = float(np.log(seconds[1] / seconds[0]))
            phases.append(Pair(full_name(old.case), phase, *seconds, values, plain))
    return phases


def _timed(pairs: list[RowPair]) -> list[RowPair]:
    """Returns the pairs with proved times of one network; only these are compared."""
    return [(old, now) for old, now in pairs if old.rankable and now.rankable]


def _machines(rows: list[Row]) -> set[str]:
    return {row.first.machine["hash"] for row in rows}


def _newest(rows: Sequence[Row], same_machine: bool) -> dict[tuple[str, str], Row]:
    """Returns the newest row of each case by its id and, if that counts, its machine."""
    newest: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.first.case_id, row.first.machine["hash"] if same_machine else ""
        newest[key] = max(newest.get(key, row), row, key=_newest_record)
    return newest


def _newest_record(row: Row) -> str:
    return max(record.started_at for record in row.records)


def _beyond(
    rows: Mapping[tuple[str, str], Row], others: Mapping[tuple[str, str], Row]
) -> list[str]:
    """Returns the names of the cases that the others lack."""
    return [full_name(row.case) for key, row in rows.items() if key not in others]


def _versions(pairs: Sequence[RowPair]) -> list[str]:
    """Returns the frameworks with a changed version: `snntorch 0.9.4 → 1.0.0`."""
    known = [
        (old.first.case["framework"], *(row.first.adapter.get("version") for row in (old, now)))
        for old, now in pairs
    ]
    changed = {(name, was, now) for name, was, now in known if was != now}
    return sorted(f"{name} {was or 'unknown'} → {now or 'unknown'}" for name, was, now in changed)


def _only_the_cases(shift: float, canary: float | None, rule: Rule) -> bool:
    """Returns whether most cases changed while the machine, by its canary, did not."""
    if canary is None or 1 / rule.changed < shift < rule.changed:
        return False
    return not 1 / rule.changed < shift / canary < rule.changed
