"""Generates the table of memory beyond arguments and outputs in docs/kernels.md."""

from snnbench.common import units
from snnbench.core.case import PHASES
from snnbench.records.rows import Row
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line
from snnbench.report.words import reason_of


def memory_text(table: Table) -> str:
    """Returns a table for every comparison group, the leanest first, and a sentence on the leanest.

    Only proved rows have figures; the others follow with their reasons.
    """
    return "\n".join(
        _weights(title, [entry.row for entry in group])
        for title, group in table.comparison_groups()
    )


def _weights(title: str, rows: list[Row]) -> str:
    weighed = sorted((row for row in rows if row.proved and _extra(row) is not None), key=_extra)
    others = [row for row in rows if row not in weighed]
    phases = [phase for phase in PHASES if any(phase in row.first.memory for row in weighed)]
    lines = [
        f"**{title}**",
        "",
        line(["framework", *phases]),
        line([":--", *["--:"] * len(phases)]),
    ]
    for row in weighed:
        sizes = [row.first.memory.get(phase, {}).get("extra_bytes") for phase in phases]
        lines.append(line([row.case.framework_variant, *map(units.size, sizes)]))
    lines += [
        "",
        *(f"* {row.case.framework_variant}: {row.status}: {reason_of(row)}" for row in others),
    ]
    return "\n".join([*lines, *(["", sentence] if (sentence := _leanest(weighed)) else []), ""])


def _extra(row: Row) -> int | None:
    return row.most_memory("extra")


def _leanest(weighed: list[Row]) -> str | None:
    """Returns a sentence: the first row's bytes and share of the leanest other framework's."""
    other = next((row for row in weighed if row.case.framework != weighed[0].case.framework), None)
    if other is None or not _extra(other):
        return None
    first, share = weighed[0], (_extra(weighed[0]) or 0) / _extra(other)
    return (
        f"Beyond arguments and outputs `{first.case.framework_variant}` takes "
        f"{units.size(_extra(first))}, "
        f"{share:.1%} of the {units.size(_extra(other))} of the leanest other framework, "
        f"`{other.case.framework_variant}`."
    )
