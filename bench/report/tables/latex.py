"""The ranking tables as LaTeX for papers: a booktabs `tabular` for each comparison group."""

import re

from ...common.texts import brief
from ..columns.metric import REMARKS, SUMMARY, Entry
from ..table import Table
from ..words import reason_of, remarks_on

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
    "≈": r"$\approx$",
    "−": "$-$",
    "µ": r"\textmu{}",
    "–": "--",
    "“": "``",
    "”": "''",
    "’": "'",
    "…": r"\ldots{}",
    **{character: f"$^{digit}$" for digit, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
"""LaTeX spelling of special characters."""
LEFT_OUT = (REMARKS, "status")
"""Columns that stand in the note below the table instead."""
SIGNS = {
    "=": "“=”: not shown to be slower than the fastest; so are all that share it.",
    "–": "Ranks such as 2–4: those that a case may have.",
    "≈": "≈: the time that belongs to “× best”; the machine changed between the passes.",
    "interval": "95 % interval: of the geometric mean over blocks of each block’s median, in this "
    "run; behind “× best” of the ratio to the fastest, paired pass by pass.",
}
"""Explanations of the signs that a table uses."""
LETTERS = 80
"""Characters to which a reason is cut, as in a terminal."""


def latex_text(table: Table) -> str:
    """Returns a table for each comparison group, the fastest first. Undecided frameworks share
    ranks, and untimed ones stand last; native neurons and groups without a time have no table."""
    groups = [
        (title, sorted(group, key=lambda entry: not entry.row.sound))
        for title, group in table.comparison_groups()
        if not group[0].native and any(entry.row.sound for entry in group)
    ]
    tables = [
        _table(table, number, title, group) for number, (title, group) in enumerate(groups, start=1)
    ]
    return "\n".join(["% needs \\usepackage{booktabs}, and textcomp in LaTeX before 2020", *tables])


def _table(table: Table, number: int, title: str, group: list[Entry]) -> str:
    metrics = [metric for metric in table.metrics_of(group, SUMMARY) if metric.head not in LEFT_OUT]
    notes = list(dict.fromkeys(filter(None, map(_note, group))))
    head, *cells = [
        [metric.head for metric in metrics],
        *([metric.short_text(entry) for metric in metrics] for entry in group),
    ]
    lines = [[latex(cell) for cell in (head[0], "framework", *head[1:])]]
    for entry, (rank, *others) in zip(group, cells, strict=True):
        mark = f"\\textsuperscript{{{_letter(notes.index(_note(entry)))}}}" if _note(entry) else ""
        name = f"{latex(entry.variant)}{mark}"
        if entry.row.sound:
            lines.append([latex(rank), name, *map(latex, others)])
        else:
            status = f"\\multicolumn{{{len(others)}}}{{l}}{{{latex(entry.row.status)}}}"
            lines.append([latex(rank), name, status])
    columns = "".join("r" if metric.number else "l" for metric in metrics)
    first, *body = (f"    {' & '.join(line)} \\\\" for line in lines)
    label = _slug(f"snnbench {number} {table.conditions.short(group[0].row)}")
    caption = ["  \\centering", f"  \\caption{{{latex(title)}}}", f"  \\label{{tab:{label}}}"]
    tabular = [f"  \\begin{{tabular}}{{{columns[0]}l{columns[1:]}}}", "    \\toprule", first]
    tabular += ["    \\midrule", *body, "    \\bottomrule", "  \\end{tabular}"]
    below = [*_below(head, cells, notes), "\\end{table}", ""]
    return "\n".join(["\\begin{table}", *caption, *tabular, *below])


def _note(entry: Entry) -> str:
    """Returns the remarks on a row, or why it has no time."""
    row = entry.row
    return remarks_on(row) or " ".join(brief(reason_of(row), LETTERS).split())


def _letter(number: int) -> str:
    """Returns a, …, z, aa, ab, …

    >>> _letter(0), _letter(27)
    ('a', 'ab')
    """
    before, last = divmod(number, 26)
    return (_letter(before - 1) if before else "") + chr(ord("a") + last)


def _below(head: list[str], cells: list[list[str]], notes: list[str]) -> list[str]:
    """Returns the explanations of used signs, and the notes."""
    ranks = [line[0] for line in cells]
    used = {
        "=": any("=" in rank for rank in ranks),
        "–": any("–" in rank for rank in ranks),
        "≈": any("≈" in cell for line in cells for cell in line),
        "interval": "95 % interval" in head,
    }
    sentences = [latex(text) for sign, text in SIGNS.items() if used[sign]]
    sentences += [
        f"\\textsuperscript{{{_letter(number)}}}~{latex(note.rstrip('.'))}."
        for number, note in enumerate(notes)
    ]
    if not sentences:
        return []
    return [
        "  \\par\\smallskip",
        "  \\begin{minipage}{\\linewidth}\\footnotesize",
        *(f"    {text}" for text in sentences),
        "  \\end{minipage}",
    ]


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def latex(text: str) -> str:
    """Escapes `text` for LaTeX."""
    return "".join(WRITTEN.get(character, character) for character in text)
