"""Scaling over ranks: several ranks against one rank of the same framework. Different numbers of
ranks are never ranked together."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ..common import units
from ..measure.pipeline import Prediction
from ..records.rows import grouped
from .columns.metric import Entry
from .columns.work import predicted_of
from .table import Table

SHARED = {"data": "batch", "time": "time_steps"}
"""The size that ranks share."""
HEAD = (
    "framework",
    "ranks",
    "step",
    "speed-up",
    "efficiency",
    "memory of a rank",
    "waits",
    "predicted",
)
AGREES = 0.15
"""Relative deviation allowed between a measured and a predicted step."""
FARTHEST = 64
"""Largest number of ranks of a drawn prediction."""


@dataclass(frozen=True)
class Scaling:
    """A variant on one rank and on several: `strong` scaling of one size, or weak scaling of a size
    that grows with the ranks."""

    strong: bool
    parallel: str
    conditions: str
    alone: Entry
    together: tuple[Entry, ...]

    @property
    def title(self) -> str:
        kind = "strong scaling" if self.strong else "weak scaling: the size grows with the ranks"
        return " · ".join(filter(None, (kind, f"{self.parallel} parallel", self.conditions)))

    def speed_up(self, entry: Entry) -> float | None:
        """Returns the work per second relative to one rank."""
        if not (self.alone.shows(self.phase) and entry.shows(self.phase)):
            return None
        work = 1 if self.strong else ranks_of(entry)
        return float(work * self.seconds(self.alone) / self.seconds(entry))

    @property
    def phase(self) -> str:
        """The phase that ranks the cases."""
        return self.alone.row.ranked

    def seconds(self, entry: Entry) -> float:
        """Returns the time of an entry that shows it."""
        return float(entry.values[f"{self.phase}_s"])

    @property
    def prediction(self) -> Prediction | None:
        """The prediction of a step from the terms of the first case with several ranks; of one
        size only."""
        if self.strong and self.phase == "step":
            return next(filter(None, (predicted_of(entry.row) for entry in self.together)), None)
        return None


def heads_of(table: Table) -> list[str]:
    """Returns HEAD with the word for what ranks the cases."""
    return [table.timed if head == "step" else head for head in HEAD]


def ranks_of(entry: Entry) -> int:
    return entry.row.case.ranks or 1


def scalings(table: Table) -> list[Scaling]:
    """Returns everything measured on one rank and on several, strong scaling first."""
    return [*_scalings_in(table, True), *_scalings_in(table, False)]


def _scalings_in(table: Table, strong: bool) -> Iterator[Scaling]:
    for parallel, size in SHARED.items():
        without = ("ranks", "parallel") if strong else ("ranks", "parallel", size)
        for where, group in table.groups(without):
            varying = (axis for axis in table.conditions.varying_axes if axis in where)
            conditions = " · ".join(where[axis] for axis in varying)
            of_kind = [entry for entry in group if entry.row.case.parallel in (None, parallel)]
            for members in grouped(of_kind, partial(_line, size="" if strong else size)).values():
                ordered = sorted(members, key=ranks_of)
                if ranks_of(ordered[0]) == 1 and len(ordered) > 1:
                    yield Scaling(strong, parallel, conditions, ordered[0], tuple(ordered[1:]))


def _line(entry: Entry, size: str) -> tuple[str, float]:
    """Returns what cases of one line share; in weak scaling the part of a rank."""
    return entry.variant, getattr(entry.row.case, size) / ranks_of(entry) if size else 0.0


def lines_of(scaling: Scaling) -> list[list[str]]:
    """Returns the cells below HEAD, one rank first."""
    prediction, lines = scaling.prediction, []
    for entry in (scaling.alone, *scaling.together):
        ranks, speed_up = ranks_of(entry), scaling.speed_up(entry)
        weighed = entry.values[f"{scaling.phase}_peak_memory_bytes"] if entry.row.proved else None
        wait = entry.values["rank_wait_s"]
        time = entry.row.status
        if entry.shows(scaling.phase):
            time = units.seconds(scaling.seconds(entry))
        lines.append(
            [
                entry.variant,
                str(ranks),
                time,
                "" if speed_up is None else units.ratio(speed_up),
                "" if speed_up is None else units.share(speed_up / ranks),
                "" if weighed is None else units.size(weighed),
                "" if wait is None else units.seconds(wait),
                "" if prediction is None else predicted(prediction, ranks),
            ]
        )
    return lines


def predicted(prediction: Prediction, ranks: int) -> str:
    middle, least, most = prediction.seconds(ranks)
    return f"{units.seconds(middle)} ({units.seconds_between(least, most)})"


def notes_of(scaling: Scaling) -> list[str]:
    """Returns notes on the predicted best number of ranks and on deviating measurements."""
    if (prediction := scaling.prediction) is None:
        return []
    name, (middle, least, most) = scaling.alone.variant, prediction.optimum
    of = "predicted from Ts, F and Tc measured on one device, not measured"
    notes = [f"{name}: best on about {middle:.3g} ranks ({least:.3g}–{most:.3g}), {of}"]
    for entry in (each for each in scaling.together if each.shows("step")):
        apart = entry.values["step_s"] / prediction.seconds(ranks_of(entry))[0] - 1
        if abs(apart) > AGREES:
            more = f"{abs(apart):.0%} {'longer' if apart > 0 else 'shorter'}"
            notes.append(
                f"{name}: the step of {ranks_of(entry)} ranks is {more} than predicted, not "
                f"within {AGREES:.0%}"
            )
    return notes


def by_title(table: Table) -> dict[str, list[Scaling]]:
    """Returns the scalings of each table by its title."""
    return grouped(scalings(table), lambda scaling: scaling.title)
