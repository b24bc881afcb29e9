"""`results.csv`: one row per case, fixed column order, SI units in the names, unknown empty."""

import csv
import io

from ..table import Table


def csv_text(table: Table) -> str:
    """Every metric of every case of `table`, under a line with the names of the columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.columns, lineterminator="\n")
    writer.writeheader()
    for entry in table.entries:  # the writer leaves the cell of None empty
        words = {name: str(value).lower() for name, value in entry.values.items() if isinstance(value, bool)}
        writer.writerow(entry.values | words)
    return stream.getvalue()
