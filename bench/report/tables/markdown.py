"""The ranking tables as Markdown, for READMEs and pull requests."""

from ... import units
from ...records.rows import Row
from ..coverage import Conditions, reason_of

NATIVE_HEADS = ("framework", "step", "95 % interval", "forward", "backward", "memory", "firing rate", "neuron", "status")
HEADS = ("#", "framework", "step", "95 % interval", "× best", "forward", "backward", "memory", "status")


def markdown_text(rows: list[Row]) -> str:
    conditions = Conditions(rows)
    return "\n".join(_table(conditions.full(group[0]), group) for group in conditions.groups.values())


def _table(title: str, group: list[Row]) -> str:
    if group[0].case.native:
        lines = [f"**{title}**, not ranked", "", line(NATIVE_HEADS), line([":--", *["--:"] * 6, ":--", ":--"])]
        return "\n".join([*lines, *(line(_native_cells(row)) for row in group), ""])
    lines = [f"**{title}**", "", line(HEADS), line(["--:", ":--", *["--:"] * 6, ":--"])]
    return "\n".join([*lines, *(line(_cells(row)) for row in group), ""])


def _native_cells(row: Row) -> list[str]:
    _, framework, step, interval, _, *others, status = _cells(row)
    cells = [framework, step, interval, *others, units.share(row.firing_rate)]
    return [*cells, plain(row.first.facts.get("native") or ""), status]


def _cells(row: Row) -> list[str]:
    step, forward, backward = (row.estimates.get(p) if row.sound else None for p in ("step", "forward", "backward"))
    return [
        str(row.rank or ""),
        row.case.framework_variant,
        units.seconds(step.median) if step else "",
        f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else "",
        f"{row.ratio:.2f}" if row.ratio else "",
        units.seconds(forward.median) if forward else "",
        units.seconds(backward.median) if backward else "",
        units.size(row.peak_memory),
        plain(": ".join(filter(None, (row.status, reason_of(row))))),
    ]


def line(cells) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(text: str) -> str:
    """`text` from outside, in which Markdown is to see no HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
