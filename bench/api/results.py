"""Results in Python: what `snnbench report` reads, as objects and as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common import __version__
from ..common.mistakes import ConfigError
from ..records.bundle import stored_set
from ..records.rows import Row
from ..report.columns.metric import SUMMARY, Metric
from ..report.files import ReadResults as Read
from ..report.files import results_of
from ..report.table import Table
from ..report.tables.frame import frame_of
from ..report.words import reason_of

if TYPE_CHECKING:
    from pandas import DataFrame


def load(*folders: str | Path) -> Results:
    """Returns the results of one or more folders of `snnbench run`, or of bundles.

    `Results.unreadable` names files that cannot be read. Raises ConfigError for a missing folder,
    for no argument, and for a list of folders.

    Example:

        import snnbench

        results = snnbench.load("results/quickstart.bundle.jsonl")
        ranked = results.frame.query("ranked and neuron == 'soft'")
        ranked[["variant", "step_s", "ratio", "peak_memory_bytes"]]
    """
    if not folders:
        raise ConfigError(
            "load() needs the folder of at least one run, such as load('results/local/quickstart')"
        )
    if not all(isinstance(folder, str | Path) for folder in folders):
        raise ConfigError(
            "load() takes each folder as an argument of its own: "
            "load('results/a', 'results/b'), or load(*folders)"
        )
    stores = [stored_set(Path(folder)) for folder in folders]
    for store in stores:
        store.must_exist()
    read = results_of(stores)
    return Results(read, read.table)


def results_in(source: Results | str | Path) -> Results:
    """Returns results, or those of a folder or a bundle."""
    return source if isinstance(source, Results) else load(source)


class Results:
    """Cases of one or more result folders, in the order of results.csv.

    A notebook shows the ranking tables. `rows` has for each requested case its records, statistics
    and rank, and `table` the rows as tables and figures read them. `unreadable` has a sentence for
    each file that could not be read, `missing` the names of planned cases without a record.
    """

    def __init__(self, read: Read, table: Table) -> None:
        self._read, self.table, self.rows = read, table, table.rows
        self.unreadable, self.missing = read.unreadable, read.missing

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._read.sets)
        return f"<snnbench.Results: {len(self)} cases of {names}>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @cached_property
    def frame(self) -> DataFrame:
        """A line for each case with the columns of results.csv; docs/columns.md describes them.

        Types are float64, with NaN for an unknown value, and Int64, boolean, string and category,
        with NA. `attrs` has `units` by column, `machines`, `unreadable`, `missing` and `snnbench`,
        the version that read the records. Raises ModuleNotFoundError without pandas: pip install
        'snnbench[pandas]'.
        """
        frame = frame_of(self.table)
        frame.attrs |= {
            "unreadable": list(self.unreadable),
            "missing": list(self.missing),
            "snnbench": __version__,
        }
        return frame

    def fastest(self) -> DataFrame:
        """The lines of `frame` that may be the fastest of their group, several if undecided."""
        frame = self.frame
        return frame[(frame["rank_low"] == 1).fillna(False).astype(bool)]

    def _repr_html_(self) -> str:
        parts = [
            f"<p>{len(self)} cases</p>",
            *(f"<p>{escape(sentence)}</p>" for sentence in self.unreadable),
        ]
        for title, group in self.table.comparison_groups():
            shown = self.table.metrics_of(group, SUMMARY)
            lines = [["framework", *(metric.head for metric in shown)]]
            lines += [
                [entry.variant, *(_cell(metric, entry) for metric in shown)] for entry in group
            ]
            parts.append(f"<h4>{escape(title)}</h4>{html_table(lines)}")
        return "\n".join(parts)


def html_table(lines: Iterable[Iterable[str]]) -> str:
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


def _cell(metric: Metric, entry: Any) -> str:
    if metric.name == "status":
        return ": ".join(filter(None, (entry.row.status, reason_of(entry.row))))
    return metric.short_text(entry)
