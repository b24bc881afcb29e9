"""Framework × neuron × precision × device as Markdown: what was proved, and why the rest was
not."""

from ...core.case import PRECISIONS
from ...experiment.values import NAMED_NEURONS
from ...records.rows import Row, grouped
from ..coverage import Conditions
from ..table import Table
from ..words import reason_of
from .markdown import line, plain

SHORT = ("bf16", "fp16", "amp-bf16")
WIDER = ("float32", "int64")
REFUSED = "✗"
NO_NEURON = "no neuron"
"""Column of cases that deliver data."""
NOT_HERE = ("unsupported", "env_error")


def matrix_text(table: Table) -> str:
    """Returns a table per device: a line for each variant, a column for each neuron, notes on gaps.

    A cell names the precisions in which the network was proved and timed; a star marks a state in a
    wider format than requested. A reason for a whole precision stands below the table once.
    """
    devices = grouped(table.rows, lambda row: row.case.device)
    return "\n".join(_matrix(device, rows) for device, rows in sorted(devices.items()))


def _matrix(device: str, rows: list[Row]) -> str:
    cells = grouped(
        rows, lambda row: (row.case.framework_variant, row.case.neuron_label or NO_NEURON)
    )
    labels = {neuron for _, neuron in cells}
    neurons = [
        *(name for name in NAMED_NEURONS if name in labels),
        *sorted(labels - set(NAMED_NEURONS)),
    ]
    general = _general(rows)
    notes: dict[str, int] = {}
    lines = [line(["framework", *neurons]), line([":--"] * (1 + len(neurons)))]
    for variant in sorted({row.case.framework_variant for row in rows}):
        members = [cells.get((variant, neuron), []) for neuron in neurons]
        lines.append(line([variant, *(_cell(cell, general, notes) for cell in members)]))
    below = [f"* {precision}: {plain(reason)}" for precision, reason in general.items()]
    below += [f"{number}. {plain(reason)}" for reason, number in notes.items()]
    title = f"**{device}**: {' · '.join(text for text in Conditions(rows).fixed if text != device)}"
    return "\n".join([title, "", *lines, "", *below, ""])


def _general(rows: list[Row]) -> dict[str, str]:
    """Returns precisions that no installed framework supports, with the common reason."""
    tried = grouped(
        (row for row in rows if row.status != "env_error"), lambda row: row.case.precision
    )
    general = {}
    for precision in PRECISIONS:
        reasons = {
            reason_of(row) if row.status == "unsupported" else ""
            for row in tried.get(precision, [])
        }
        if len(reasons) == 1 and (reason := reasons.pop()):
            general[precision] = reason
    return general


def _cell(rows: list[Row], general: dict[str, str], notes: dict[str, int]) -> str:
    by_precision = grouped(rows, lambda row: row.case.precision)
    asked = {
        name: by_precision[name]
        for name in PRECISIONS
        if name in by_precision and name not in general
    }
    words = [_word(precision, members) for precision, members in asked.items()]
    reasons = dict.fromkeys(
        reason_of(row) for members in asked.values() for row in members if not row.sound
    )
    for reason in reasons:
        notes.setdefault(reason, len(notes) + 1)
    marks = " ".join(
        f"<sup>{number}</sup>" for number in sorted(notes[reason] for reason in reasons)
    )
    return (", ".join(filter(None, words)) or ("–" if asked else "")) + marks


def _word(precision: str, rows: list[Row]) -> str:
    """Returns the words for the cases of a precision and any sizes; empty if none could be
    tried."""
    sound = [row for row in rows if row.sound]
    if not sound:
        return "" if all(row.status in NOT_HERE for row in rows) else f"{precision} {REFUSED}"
    wider = precision in SHORT and any(row.first.facts.get("state_dtype") in WIDER for row in sound)
    part = "" if len(sound) == len(rows) else f" ({len(sound)} of {len(rows)} sizes)"
    return precision + ("\\*" if wider else "") + part
