"""The ranking tables as Markdown, for READMEs and pull requests."""

from . import units
from .coverage import Conditions, reason_of
from .rows import Row

HEADS = ("#", "framework", "step", "95 % interval", "× best", "forward", "backward", "memory", "status")


def markdown_text(rows: list[Row]) -> str:
    conditions = Conditions(rows)
    return "\n".join(_table(conditions.full(group[0]), group) for group in conditions.groups.values())


def _table(title: str, group: list[Row]) -> str:
    lines = [f"**{title}**", "", _line(HEADS), _line(["--:", ":--", *["--:"] * 6, ":--"])]
    return "\n".join([*lines, *(_line(_cells(row)) for row in group), ""])


def _cells(row: Row) -> list[str]:
    step, forward, backward = (row.estimates.get(p) if row.rankable else None for p in ("step", "forward", "backward"))
    return [
        str(row.rank or ""),
        row.case.framework_variant,
        units.seconds(step.median) if step else "",
        f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else "",
        f"{row.ratio:.2f}" if row.ratio else "",
        units.seconds(forward.median) if forward else "",
        units.seconds(backward.median) if backward else "",
        units.size(row.peak_memory),
        ": ".join(filter(None, (row.status, reason_of(row)))),
    ]


def _line(cells) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
