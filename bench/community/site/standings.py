"""A framework's standing against others. Only comparisons of the same variants and versions are
summarised together: ratios to the fastest of ten frameworks and to a plain loop are different
quantities."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ...common.units import counted
from ...machine.facts import machine_label
from ...records.rows import Row, comparison_group, grouped
from .source import Source, by_version, framework_of, in_order, kind_of_row, undecided, version_of

Held = frozenset[tuple[str, str, str]]
"""Framework, variant and version of each ranked case of a comparison."""
MOST_NAMED = 3


def comparisons(sources: Sequence[Source]) -> dict[int, Held]:
    """Returns the ranked cases of each row's comparison, by `id` of the row, without undecided
    comparisons."""
    ranked_with: dict[int, Held] = {}
    for source in sources:
        for group in grouped(
            [row for row in source.rows if row.standing], comparison_group
        ).values():
            if not undecided(group):
                ranked_with |= dict.fromkeys(
                    map(id, group), frozenset((framework_of(row), *_own(row)) for row in group)
                )
    return ranked_with


def standings(
    rows: Sequence[Row], ranked_with: Mapping[int, Held]
) -> tuple[list[dict[str, Any]], str]:
    """Returns a line for each variant and version of a framework, kind of machine and set of
    rivals; and the counts of comparisons that are in no line, in words."""
    ranked = [row for row in rows if row.standing]
    held = [(row, ranked_with.get(id(row), frozenset())) for row in ranked]
    lines = [
        _line(kind, variant, beside, [row for row, _ in same])
        for (kind, variant, beside), same in grouped(
            [(row, beside) for row, beside in held if len(beside) > 1],
            lambda pair: (kind_of_row(pair[0]), _own(pair[0]), pair[1]),
        ).items()
    ]
    lines.sort(
        key=lambda line: (
            line["machine"],
            line["variant"],
            by_version(line["version"]),
            line["against"],
        )
    )
    undecided = sum(not beside for _, beside in held)
    alone = sum(len(beside) == 1 for _, beside in held)
    omitted = [f"{counted(undecided, 'comparison')} not decided"] * bool(undecided)
    omitted += [f"{counted(alone, 'comparison')} without another case"] * bool(alone)
    return lines, " and ".join(omitted)


def _line(kind: str, variant: tuple[str, str], beside: Held, rows: Sequence[Row]) -> dict[str, Any]:
    against, hint = _against(framework_of(rows[0]), beside)
    known = [row.standing for row in rows if row.standing]
    ratios = sorted(standing.ratio for standing in known)
    figures = {
        "first": f"{sum(standing.best == 1 for standing in known)} of {len(known)}",
        "median": f"{median(ratios):.2f}",
        "span": f"{ratios[0]:.2f} – {ratios[-1]:.2f}" if len(ratios) > 1 else "",
    }
    where = {
        "kind": kind,
        "machine": machine_label(rows[0].first.machine),
        "variant": variant[0],
        "version": variant[1],
    }
    return {**where, "against": against, "hint": hint, "count": len(rows), **figures}


def _against(name: str, ranked: Held) -> tuple[str, str]:
    """Returns the rivals in few words, and each variant and version of them."""
    others = in_order(framework for framework, _, _ in ranked if framework != name)
    named = others if len(others) <= MOST_NAMED + 1 else others[:MOST_NAMED]
    more = len(others) - len(named)
    several = sum(framework == name for framework, _, _ in ranked) > 1
    variants = len(ranked) - 1
    others_counted = f"{more} more" + f" in {variants} variants" * (variants > len(others))
    words = [
        *named,
        *([others_counted] if more else []),
        *(["others of its own"] if several else []),
    ]
    hint = ", ".join(" ".join(filter(None, case[1:])) for case in sorted(ranked))
    return ", ".join(words[:-1]) + " and " * (len(words) > 1) + words[-1], hint


def _own(row: Row) -> tuple[str, str]:
    return row.first.typed_case.framework_variant, version_of(row)
