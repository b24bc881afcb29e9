"""Generates the README's first table: the ranked steps of the neuron `soft` in fp32."""

from snnbench.report.table import Table
from snnbench.report.tables.markdown import line

OURS = {"fused": "fused (ours)"}
SHOWN = {
    "rank_low": "#",
    "framework": "framework",
    "step_s": "step",
    "ratio": "× best",
    "peak_memory_bytes": "memory",
}


def first_text(table: Table) -> str:
    """Raises StopIteration if no case of that neuron is ranked."""
    metrics = {metric.name: metric for metric in table.metrics}
    groups = (group for _, group in table.comparison_groups())
    group = next(
        group
        for group in groups
        if group[0].values["neuron"] == "soft" and group[0].values["precision"] == "fp32"
    )
    rows = [
        [
            OURS.get(entry.variant, entry.variant)
            if name == "framework"
            else metrics[name].short_text(entry)
            for name in SHOWN
        ]
        for entry in group
        if entry.row.standing
    ]
    return "\n".join(map(line, [SHOWN.values(), ["--:", ":--", "--:", "--:", "--:"], *rows])) + "\n"
