"""Who takes how much memory beyond arguments and outputs, as Markdown: the leanest first."""

from snnbench.adapters.base.case import PHASES

from .. import units
from ..records.rows import Row
from .coverage import Conditions, reason_of
from .tables.markdown import line


def memory_text(rows: list[Row]) -> str:
    """A table for every comparison group, and in a sentence the leanest row against the leanest of another framework.

    Only what was proved has figures; the others stand below with the reason.
    """
    conditions = Conditions(rows)
    return "\n".join(_group(conditions.full(group[0]), group) for group in conditions.groups.values())


def _group(title: str, rows: list[Row]) -> str:
    weighed = sorted((row for row in rows if row.proved and row.extra_memory is not None), key=lambda row: row.extra_memory)
    others = [row for row in rows if row not in weighed]
    phases = [phase for phase in PHASES if any(phase in row.first.memory for row in weighed)]
    lines = [f"**{title}**", "", line(["framework", *phases]), line([":--", *["--:"] * len(phases)])]
    lines += [line(_cells(row, phases)) for row in weighed]
    lines += ["", *(f"* {row.case.framework_variant}: {row.status}: {reason_of(row)}" for row in others)]
    return "\n".join([*lines, *(["", sentence] if (sentence := _sentence(weighed)) else []), ""])


def _cells(row: Row, phases: list[str]) -> list[str]:
    found = [row.first.memory.get(phase, {}).get("extra_bytes") for phase in phases]
    return [row.case.framework_variant, *map(units.size, found)]


def _sentence(weighed: list[Row]) -> str | None:
    first, *rest = weighed or [None]
    other = next((row for row in rest if row.case.framework != first.case.framework), None)
    if other is None:
        return None
    return (
        f"Beyond arguments and outputs `{first.case.framework_variant}` takes {units.size(first.extra_memory)}, "
        f"{first.extra_memory / other.extra_memory:.1%} of the {units.size(other.extra_memory)} of the leanest other framework, "
        f"`{other.case.framework_variant}`."
    )
