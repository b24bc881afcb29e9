"""Generates docs/versions.md: the proof of each version and its ratio to the plain loop."""

from snnbench.common import units
from snnbench.report.figures.versions import versions
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line, plain


def history_text(table: Table) -> str:
    """Returns a row per version, newest first, a column per neuron, and each reason once."""
    cells: dict[str, dict[str, str]] = {}
    notes: dict[str, int] = {}
    heads: list[str] = []
    for panel in versions(table).panels:
        neuron = panel.where["neuron"].removeprefix("neuron ")
        heads += [neuron] * (neuron not in heads)
        for point in panel.points:
            row = table.entries[point["row"]].row
            mark = ""
            if row.reason:
                name = row.first.adapter["name"]
                reason = row.reason.replace(
                    f"{name} {row.first.adapter['version']}", name
                )  # many versions lack the same
                mark = f"<sup>{notes.setdefault(reason, len(notes) + 1)}</sup>"
            ratio = "" if point["against"] is None else f" {units.ratio(point['against'])}"
            variant = "".join(row.case.framework_variant.partition(":")[1:])
            cells.setdefault(point["version"] + variant, {})[neuron] = (
                f"{point['word']}{ratio}{mark}"
            )
    lines = [line(["version", *heads]), line([":--"] * (1 + len(heads)))]
    lines += [
        line([version, *(own.get(head, "") for head in heads)]) for version, own in cells.items()
    ]
    below = [f"{number}. {plain(reason)}" for reason, number in notes.items()]
    return "\n".join([*lines, "", *below, ""])
