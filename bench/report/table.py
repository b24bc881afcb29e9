"""All cases of a report with everything computed from them, once, for all of its parts."""

import csv
import io
import re
from collections.abc import Container, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from snnbench.kernels.spec import NEURONS

from ..core.result import Array
from ..records.contrasts import LogRatio, compared
from ..records.pairing import contrasts, levels, rough_ratios
from ..records.rows import Row, grouped
from .columns.metric import Entry, Metric, in_order
from .columns.metrics import METRICS, RANKED_BY
from .coverage import Conditions

FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""First characters of a spreadsheet's formula."""
STEP = re.compile(r"\bstep\b")
OF_RANKS = ("rank_low", "ratio", "roofline")
"""Columns that are of the phase by which a case is ranked."""
DEFAULT_NEURON = next(iter(NEURONS))
MOST_TOGETHER = 100
"""Approximate number of cases with living processes at once."""


class Table:
    """All cases of a report. `baseline` is a framework variant; empty: the fastest of each
    group."""

    def __init__(self, rows: list[Row], baseline: str = "", metrics: Sequence[Metric] = METRICS):
        self.rows, self.baseline, self.metrics = rows, baseline, metrics
        self.conditions = Conditions(rows)
        self.entries = [
            Entry(
                index,
                row,
                {metric.name: metric.value(row) for metric in metrics},
                self.conditions.parts(row),
            )
            for index, row in enumerate(rows)
        ]
        self.variants = sorted({entry.variant for entry in self.entries})
        self.columns = [metric.name for metric in metrics]
        """Columns of results.csv, in order."""
        self.step = "epoch" if rows and all(row.case.delivers_data for row in rows) else "step"
        """Word for the phase `step`: a case that delivers data has epochs."""
        ranked = dict.fromkeys(row.ranked for row in rows)
        self.timed = " or ".join(map(self.phase, ranked)) or "step"
        """Word for what the cases are ranked by."""
        self.phases = in_order(*ranked)
        """Phases in the order of a reader's interest."""
        self._contrasts: dict[tuple[Any, ...], Array] = {}

    def in_views(self, *views: str) -> list[Metric]:
        """Returns the metrics of `views`, from left to right."""
        ranked = {row.ranked for row in self.rows}
        return self._in_views(ranked.pop() if len(ranked) == 1 else "step", *views)

    def _in_views(self, ranked: str, *views: str) -> list[Metric]:
        """Returns the metrics of `views` for cases that the phase `ranked` ranks."""
        phases = RANKED_BY[ranked] if ranked != "step" else {}
        all_metrics = (phases.get(metric.name, metric) for metric in self.metrics)
        chosen = (each for each in all_metrics if not {*views}.isdisjoint(each.views.split()))
        return [self._in_words(each, ranked) for each in sorted(chosen, key=attrgetter("place"))]

    def metrics_of(self, group: Sequence[Entry], *views: str) -> list[Metric]:
        """Returns those that have a value for at least one case; ranks are always included."""
        return [
            metric
            for metric in self._in_views(group[0].row.ranked, *views)
            if metric.name == "rank_low" or any(map(metric.short_text, group))
        ]

    def _in_words(self, metric: Metric, ranked: str) -> Metric:
        """Returns the metric with “epoch” for “step” in heading and hint, if it is one, and with
        the phase `ranked` for it in the hint of a metric of ranks."""
        if self.step == "epoch":
            return replace(
                metric, head=STEP.sub(self.step, metric.head), hint=STEP.sub(self.step, metric.hint)
            )
        if metric.name in OF_RANKS:
            return replace(metric, hint=STEP.sub(ranked, metric.hint))
        return metric

    def phase(self, name: str) -> str:
        """Returns the word for a phase."""
        return self.step if name == "step" else name

    def comparison_groups(self) -> list[tuple[str, list[Entry]]]:
        """Returns the groups of cases ranked together, with their conditions and the reason of
        undecided ranks."""
        entries = {id(entry.row): entry for entry in self.entries}
        return [
            (self._title_of(rows), [entries[id(row)] for row in rows])
            for rows in self.conditions.groups
        ]

    def _title_of(self, rows: list[Row]) -> str:
        notes = dict.fromkeys(row.standing.note for row in rows if row.standing)
        undecided = [f"no rank is decided: {note}" for note in notes if note]
        return "; ".join(filter(None, (self.conditions.full(rows[0]), *undecided)))

    def of_groups_with(self, case_ids: Container[str]) -> "Table":
        """Returns the comparison groups with at least one of these cases."""
        groups = [
            group
            for group in self.conditions.groups
            if any(row.first.case_id in case_ids for row in group)
        ]
        rows = {id(row) for group in groups for row in group}
        if len(rows) == len(self.rows):
            return self
        return Table([row for row in self.rows if id(row) in rows], self.baseline, self.metrics)

    def groups(
        self, without: tuple[str, ...] = (), native: bool = False
    ) -> list[tuple[dict[str, str], list[Entry]]]:
        """Returns groups of cases that differ only in the framework and the axes in `without`, with
        their conditions; those of the default neuron come first. Tutorials' networks are in groups
        only if `native`, and then alone."""
        entries = [entry for entry in self.entries if entry.native == native]
        entries.sort(key=lambda entry: entry.row.case.neuron_label != DEFAULT_NEURON)
        groups = grouped(
            entries,
            lambda entry: tuple(part for part in entry.parts.items() if part[0] not in without),
        )
        return [(dict(parts), group) for parts, group in groups.items()]

    def compared(self, phase: str, base: Entry, others: Sequence[Entry]) -> list[LogRatio]:
        """Returns the times of `others` relative to `base`, as one family. A ratio has no interval
        if too few slots were clean or no block has both."""
        comparisons = list[LogRatio]()
        if not others:
            return comparisons
        for other, comparison in zip(others, self._family(phase, base, others), strict=True):
            if np.isnan(comparison.estimate):
                ratio = float(rough_ratios([other.row.records, base.row.records], phase)[0, 1])
                if np.isnan(ratio):
                    ratio = float(np.log(other.values[f"{phase}_s"] / base.values[f"{phase}_s"]))
                comparison = LogRatio(ratio, -np.inf, np.inf, 1.0, np.nan)
            comparisons.append(comparison)
        return comparisons

    def _family(self, phase: str, base: Entry, others: Sequence[Entry]) -> list[LogRatio]:
        """Returns the contrasts among `entries`, cached: several figures ask for the same ones.
        More than MOST_TOGETHER were not alive together, and their pairs would be too many."""
        if len(others) >= MOST_TOGETHER:
            base_levels, *logs = levels([entry.row.records for entry in (base, *others)], phase)
            return compared([seconds - base_levels for seconds in logs])
        cases = sorted([base, *others], key=attrgetter("index"))
        places = {entry.index: place for place, entry in enumerate(cases)}
        key = (phase, *places)
        if key not in self._contrasts:
            self._contrasts[key] = contrasts([entry.row.records for entry in cases], phase)
        return compared(
            [self._contrasts[key][places[other.index], places[base.index]] for other in others]
        )

    def title(self, where: dict[str, str], before: str = "", behind: str = "") -> str:
        """Returns the distinguishing conditions and the phase between two texts; for deliveries
        with the data set."""
        varying = self.conditions.varying_axes
        data = ["dataset"] if self.step == "epoch" and "dataset" not in varying else []
        parts = [where[axis] for axis in (*data, *varying) if axis in where]
        parts += [self.phase(where["phase"])] if "phase" in where else []
        return " · ".join(filter(None, (before, *parts, behind)))


def csv_text(table: Table) -> str:
    """Returns results.csv: column names, then a row per case; unknown values are empty."""
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
    computed = isinstance(value, str) and value.lstrip().startswith(FORMULA_STARTS)
    return f"'{value}" if computed else value
