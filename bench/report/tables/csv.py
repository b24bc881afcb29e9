"""`results.csv`: one row per case, fixed column order, SI units in the names, unknown empty."""

import csv
import io
from typing import Any

from ..table import Table

COMPUTED = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""First characters of a spreadsheet's formula."""


def csv_text(table: Table) -> str:
    """Returns every metric of every case below a line of column names."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.columns, lineterminator="\n")
    writer.writeheader()
    for entry in table.entries:  # the writer leaves the cell of None empty
        writer.writerow({name: _cell(value) for name, value in entry.values.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """Writes booleans in lower case; an apostrophe precedes a text that a spreadsheet would
    compute."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(COMPUTED) else value
