"""`results.csv`: one row per case, fixed column order, SI units in the names, unknown empty."""

import csv
import io
from typing import Any

from ..table import Table

COMPUTED = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What begins a formula."""


def csv_text(table: Table) -> str:
    """Every metric of every case of `table`, under a line with the names of the columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.columns, lineterminator="\n")
    writer.writeheader()
    for entry in table.entries:  # the writer leaves the cell of None empty
        writer.writerow({name: _cell(value) for name, value in entry.values.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """A truth value in small letters; before a text that a spreadsheet would compute, an apostrophe."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(COMPUTED) else value
