"""All cases of a report with everything that is computed of them, once, for whoever writes a part of it."""

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from ..core.result import Array
from ..records.contrasts import Comparison, compared
from ..records.pairing import contrasts, levels, rough_ratios
from ..records.rows import Row, grouped
from .columns.metric import Entry, Metric
from .columns.metrics import METRICS
from .coverage import Conditions

STEP = re.compile(r"\bstep\b")
MOST_TOGETHER = 100
"""Cases, about: so many processes are alive at once."""


class Table:
    """All cases of a report. `baseline` is a framework variant, or empty for the fastest of each group."""

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
        """Of results.csv, in its order."""
        self.step = "epoch" if rows and all(row.delivers for row in rows) else "step"
        """What a reader calls the phase `step`: a case that delivers data has epochs."""
        self._contrasts: dict[tuple[Any, ...], Array] = {}

    def shown_in(self, *views: str) -> list[Metric]:
        """The metrics that stand in one of `views`, from left to right."""
        shown = [metric for metric in self.metrics if not {*views}.isdisjoint(metric.views.split())]
        return [self._in_words(metric) for metric in sorted(shown, key=attrgetter("place"))]

    def told_of(self, group: Sequence[Entry], *views: str) -> list[Metric]:
        """Those of them that tell something of at least one case; ranks always stand there."""
        return [
            metric
            for metric in self.shown_in(*views)
            if metric.name == "rank_low" or any(map(metric.short_text, group))
        ]

    def _in_words(self, metric: Metric) -> Metric:
        """With the reader's word for a step in its heading and its hint."""
        if self.step == "step":
            return metric
        return replace(
            metric, head=STEP.sub(self.step, metric.head), hint=STEP.sub(self.step, metric.hint)
        )

    def phase(self, name: str) -> str:
        """What a reader calls a phase."""
        return self.step if name == "step" else name

    def comparison_groups(self) -> list[tuple[str, list[Entry]]]:
        """Cases that are ranked together, each group with its conditions in words, and why their ranks are undecided, if so."""
        entries = {id(entry.row): entry for entry in self.entries}
        return [
            (self._title_of(rows), [entries[id(row)] for row in rows])
            for rows in self.conditions.groups
        ]

    def _title_of(self, rows: list[Row]) -> str:
        notes = dict.fromkeys(row.standing.note for row in rows if row.standing)
        return "; ".join(filter(None, (self.conditions.full(rows[0]), *notes)))

    def of_groups_with(self, case_ids: Container[str]) -> "Table":
        """The comparison groups that hold at least one of these cases."""
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
        """Cases that differ in nothing but the framework and the axes in `without`, each group with its conditions. The network
        of a tutorial is nobody else's: cases of it are in groups only if `native`, and then only these."""
        entries = [entry for entry in self.entries if entry.native == native]
        groups = grouped(
            entries,
            lambda entry: tuple(part for part in entry.parts.items() if part[0] not in without),
        )
        return [(dict(parts), group) for parts, group in groups.items()]

    def compared(self, phase: str, base: Entry, others: Sequence[Entry]) -> list[Comparison]:
        """The times of `others` over that of `base`, as one family. Where too few slots were clean, or no block has both,
        the ratio has no interval."""
        found = []
        for other, shown in zip(others, self._family(phase, base, others), strict=True):
            if np.isnan(shown.estimate):
                ratio = float(rough_ratios([other.row.records, base.row.records], phase)[0, 1])
                if np.isnan(ratio):
                    ratio = float(np.log(other.values[f"{phase}_s"] / base.values[f"{phase}_s"]))
                shown = Comparison(ratio, -np.inf, np.inf, 1.0, np.nan)
            found.append(shown)
        return found

    def _family(self, phase: str, base: Entry, others: Sequence[Entry]) -> list[Comparison]:
        """Several figures ask for contrasts of the same cases, with one or the other as their base. More than MOST_TOGETHER were
        not alive together, and all their pairs would be too many."""
        if len(others) >= MOST_TOGETHER:
            own, *logs = levels([entry.row.records for entry in (base, *others)], phase)
            return compared([seconds - own for seconds in logs])
        cases = sorted([base, *others], key=attrgetter("index"))
        places = {entry.index: place for place, entry in enumerate(cases)}
        key = (phase, *places)
        if key not in self._contrasts:
            self._contrasts[key] = contrasts([entry.row.records for entry in cases], phase)
        return compared(
            [self._contrasts[key][places[other.index], places[base.index]] for other in others]
        )

    def title(self, where: dict[str, str], before: str = "", behind: str = "") -> str:
        """What tells these conditions from those of other groups, and the phase, between two texts; of deliveries the data set in
        any case."""
        data = (
            ["dataset"]
            if self.step == "epoch" and "dataset" not in self.conditions.varying_axes
            else []
        )
        parts = [where[axis] for axis in (*data, *self.conditions.varying_axes) if axis in where]
        parts += [self.phase(where["phase"])] if "phase" in where else []
        return " · ".join(filter(None, (before, *parts, behind)))
