"""The ranking tables as LaTeX, for papers: one `tabular` for each comparison group, in the form of the package booktabs."""

from ..metric import REMARKS, SUMMARY, Entry, Metric
from ..table import Table

WRITTEN = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≥": r"$\geq$",
    "−": "$-$",
    "µ": r"\textmu{}",
    "–": "--",
}
"""How LaTeX spells what it would read otherwise, or does not know."""
LEFT_OUT = (REMARKS, "status")
"""Columns that a paper has no room for: frameworks without a time are not in the table at all."""


def latex_text(table: Table) -> str:
    """A table for each comparison group, the fastest first; frameworks whose order is not decided share their ranks. Native
    neurons, and groups in which nothing was timed, have none."""
    groups = [(title, [entry for entry in group if entry.shows("step")]) for title, group in table.comparison_groups()]
    tables = [_tabular(table, title, group) for title, group in groups if group and not group[0].native]
    return "\n".join(["% needs \\usepackage{booktabs}, and textcomp in LaTeX before 2020", *tables])


def _tabular(table: Table, title: str, group: list[Entry]) -> str:
    shown: list[Metric] = [metric for metric in table.shown_in(SUMMARY) if metric.head not in LEFT_OUT]
    lines = [[latex(metric.head) for metric in shown]]
    lines += [[latex(metric.short_text(entry)) for metric in shown] for entry in group]
    for line, framework in zip(lines, ["framework", *(latex(entry.variant) for entry in group)], strict=True):
        line.insert(1, framework)  # it stands behind its rank
    columns = ["r" if metric.number else "l" for metric in shown]
    columns.insert(1, "l")
    head, *body = (f"    {' & '.join(line)} \\\\" for line in lines)
    rules = [f"  \\begin{{tabular}}{{{''.join(columns)}}}", "    \\toprule", head, "    \\midrule"]
    ends = ["    \\bottomrule", "  \\end{tabular}"]
    return "\n".join(["\\begin{table}", f"  \\caption{{{latex(title)}}}", *rules, *body, *ends, "\\end{table}", ""])


def latex(text: str) -> str:
    """`text` as LaTeX has it."""
    return "".join(WRITTEN.get(character, character) for character in text)
