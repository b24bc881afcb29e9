"""The progress of a run: a bar with the remaining time on a terminal, plain lines elsewhere."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from math import inf
from statistics import mean

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from ..common import units
from ..common.texts import SHOWN, brief, clean, cut
from ..core.case import Case, full_name
from ..machine.cores import usable_cores
from ..machine.monitor import load_average
from ..records.pairing import counts
from ..records.ranking import estimates
from ..records.store import ResultFolder
from .budget import Budget
from .execute import CaseReport, execute
from .planning import Plan

UNMEASURED = ("unsupported", "env_error", "pruned", "interrupted")
"""Statuses of cases that were not measured."""
HEARTBEAT_S = 30.0
WIDEST_BAR = 40
START_S = 4.0
"""Seconds of a start on a quiet machine."""
RISE = 1.25
"""Factor from which on a longer remaining time is told with its reason."""
STARTS = re.compile(r"block \d+: (proving|starting) ")
"""Pattern of what runs while a case starts."""


class Progress:
    """Redraws only between cases and passes: a refreshing display would compute on the measured
    cores.

    `total`: the cases of all blocks. `timed_s`: the seconds that a case is timed on a quiet
    machine; where `crowd` programs, more than one, run or wait for each core, its slots are
    repeated and wait. The remaining time is that of the cases measured so far, before that of their
    starts, and at most `limit`; further blocks may come if it `may_grow`. `common` is the end of
    all cases' names, which is shown only once. Without a terminal a
    heartbeat reports what runs.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        timed_s: float,
        clock: Callable[[], float] = time.monotonic,
        limit: Callable[[], float] = lambda: inf,
        common: str = "",
        crowd: float = 0.0,
        may_grow: bool = False,
    ):
        self.console, self.limit, self.common, self.may_grow = console, limit, common, may_grow
        self.timed_s = timed_s * (1 + crowd if crowd > 1 else 1)
        self.start_s, self.expected_s = START_S * max(crowd, 1.0), inf
        self.heartbeat, self.starts = Heartbeat(self.say, clock), list[float]()
        self.seconds, self.tracebacks = list[float](), set[str]()
        self.ended, self.to_measure = 0, 0
        dots = 0 if console.encoding.startswith("utf") else len("...") - len("…")
        columns = (
            BarColumn(bar_width := min(WIDEST_BAR, self.console.width // 5)),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            WhatRuns(console.width - bar_width - len(f" {total}/{total} 0:00:00 ") - dots),
        )
        self.bar = Bar(
            *columns, console=self.console, auto_refresh=False, disable=not self.console.is_terminal
        )
        self.task = self.bar.add_task("cases", total=total, left="", what="")

    def __enter__(self) -> "Progress":
        if self.common:
            self.say(f"all:{self.common}")
        self.bar.start()
        self.bar.refresh()
        if not self.console.is_terminal:
            self.heartbeat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.console.is_terminal:
            self.heartbeat.__exit__()
        self.bar.update(self.task, left="", what="")
        self.bar.stop()

    def begin(self, to_measure: int) -> None:
        """Says that the first start will show how long `to_measure` measurements take."""
        self.to_measure = to_measure
        if to_measure > 1:
            longest = (
                f", {units.most_duration(left)} at most" if (left := self.limit()) < inf else ""
            )
            more = ", and more while ranks are open" if self.may_grow else ""
            shows = "the first start shows how long they take here"
            self.say(f"{to_measure} measurements{longest}{more}; {shows}")

    def show(self, report: CaseReport) -> None:
        """Shows how a case ended."""
        self.heartbeat.note_line()
        grows, self.to_measure = report.to_measure > self.to_measure, report.to_measure
        self.expected_s = inf if grows else self.expected_s
        if not report.resumed and report.record.status not in UNMEASURED:
            self.seconds.append(report.record.duration_s)
        remaining = self._remaining()
        if report.note:
            self.console.print(escape(report.note), soft_wrap=True)
        ending = self._without_common(ending_of(report))
        line = brief(f"[{report.ended}/{report.total}] {ending}", self.console.width)
        self.console.print(
            escape(line if self.console.is_terminal or not remaining else f"{line} · {remaining}"),
            soft_wrap=True,
        )
        traceback = report.record.traceback
        # A traceback is the same in every size and block.
        if traceback and not report.resumed and traceback not in self.tracebacks:
            self.tracebacks.add(traceback)
            self.console.print(escape(brief(traceback, self.console.width)), soft_wrap=True)
        self.ended = report.ended
        self.bar.update(self.task, completed=report.ended, total=report.total, left=remaining)
        self.bar.refresh()

    def say(self, sentence: str) -> None:
        """Prints a sentence."""
        self.console.print(escape(sentence), soft_wrap=True)

    def tell(self, what: str, timed: float = 0.0) -> None:
        """Shows what happens now, and moves the bar: on a terminal at once, elsewhere if it takes
        long. `timed`: cases of this block that passes have timed, with fractions."""
        if STARTS.match(self.heartbeat.what):
            self.starts.append(self.heartbeat.clock() - self.heartbeat.since)
            self._show_first_start()
        what = self._without_common(what)
        self.heartbeat.runs(what)
        self.bar.update(self.task, what=what, completed=self.ended + timed)
        self.bar.refresh()

    def _without_common(self, text: str) -> str:
        return text.replace(self.common, "", 1) if self.common else text

    def _show_first_start(self) -> None:
        if len(self.starts) > 1 or self.seconds or not (remaining := self._remaining()):
            return
        self.bar.update(self.task, left=remaining)
        if not self.console.is_terminal:
            like_it = f"{units.duration(self.starts[0])}: {remaining} if the others take as long"
            self.say(f"the first start took {like_it}")

    def _remaining(self) -> str:
        """The remaining time as a text, empty if there is nothing to measure. If it rises without
        more measurements, the text has the reason."""
        if not self.to_measure:
            return ""
        started = mean(self.starts) if self.starts else self.start_s
        one = mean(self.seconds) if self.seconds else self.timed_s + started
        seconds = max(min(self.to_measure * one, self.limit()), 1.0)
        rises, self.expected_s = seconds > RISE * self.expected_s, seconds
        reason = f", for one takes {units.duration(one)} on average so far" if rises else ""
        return f"about {units.duration(seconds)} left{reason}"


class WhatRuns(ProgressColumn):
    """The remaining time and what runs, cut to `room` characters: a longer line would push out the
    bar, the count and the elapsed time."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def render(self, task: Task) -> Text:
        text = Text("  ".join(filter(None, (task.fields["left"], task.fields["what"]))))
        text.truncate(self.room, overflow="ellipsis")
        return text


class Heartbeat:
    """Reports by `say` what runs when nothing else was printed for `every` seconds of `clock`.

    As a context manager it does so in a thread, which wakes up only then, because it computes on
    the cores that are being measured.

    with Heartbeat(print) as heartbeat:
        heartbeat.runs("proving norse")
    """

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        every: float = HEARTBEAT_S,
    ):
        self.say, self.clock, self.every = say, clock, every
        self.what, self.since, self.last = "", clock(), clock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def runs(self, what: str) -> None:
        self.what, self.since = what, self.clock()

    def note_line(self) -> None:
        """Notes that a line was printed."""
        self.last = self.clock()

    def beat(self) -> float:
        """Reports what runs, if due; returns the seconds until the next report."""
        now = self.clock()
        if now - self.last >= self.every:
            self.last = now
            if self.what:
                self.say(f"{self.what} · {units.duration(now - self.since)}")
        return self.every - (now - self.last)

    def _watch(self) -> None:
        while not self._over.wait(self.beat()):
            pass


@contextmanager
def one_by_one(
    console: Console, doing: str, total: int, every: float = HEARTBEAT_S
) -> Iterator[Callable[[str], None]]:
    """Returns a function to call with the name of each of `total` things when it begins.

    A terminal shows every name; elsewhere a heartbeat says `every` so many seconds what runs.
    """
    numbers = count(1)

    def say(text: str) -> None:
        console.print(escape(text), soft_wrap=True)

    def begin(name: str) -> None:
        text = f"[{next(numbers)}/{total}] {doing} {name}"
        heartbeat.runs(text)
        if console.is_terminal:
            console.print(f"[dim]{escape(text)}[/]")

    heartbeat = Heartbeat(say, every=every)
    with nullcontext() if console.is_terminal else heartbeat:
        yield begin


def ending_of(report: CaseReport) -> str:
    """One line with the case, its block and its end."""
    record = report.record
    case = record.typed_case
    what = f"{full_name(case)} block {record.block + 1}"
    (time,) = estimates([[record]], record.ranked)  # as in the table
    noisy = "" if counts(record, record.ranked) else " from disturbed slots"
    timed = f", {record.ranked} {units.seconds(time.seconds)}{noisy}" if time else ""
    outcome = record.status + timed
    reason = f": {record.reason}" if record.reason else ""
    return f"{what}: {'kept, ' if report.resumed else ''}{outcome}{reason}"


def _without_framework(case: Case) -> str:
    return full_name(case).removeprefix(case.framework_variant)


def execute_shown(
    plan: Plan, folder: ResultFolder, fresh: bool, console: Console, budget: Budget | None = None
) -> bool:
    """Runs a plan, shows its progress on `console`, and returns whether it was interrupted.

    Raises ConfigError if the folder cannot be used: see `ResultFolder.begin`.
    """
    measure = plan.experiment.measure
    try:
        total = len(plan.mine) * measure.planned_blocks
        limited, ends = budget or Budget(), {_without_framework(each.case) for each in plan.mine}
        with Progress(
            console,
            total,
            measure.seconds_of_slots,
            limit=lambda: limited.left,
            common=ends.pop() if len(ends) == 1 < len(plan.mine) else "",
            crowd=load_average() / len(usable_cores()),
            may_grow=measure.may_have_further_blocks,
        ) as progress:
            on = progress.show, progress.tell, progress.say, progress.begin
            interrupted, changed = execute(plan, folder, fresh, *on, limited)
    except OSError:
        console.print("What was finished is kept; the same command goes on from there.")
        raise
    for sentence in changed:
        console.print(escape(cut(clean(f"snnbench: {sentence}"), *SHOWN)), soft_wrap=True)
    return interrupted
