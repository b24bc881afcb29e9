"""What a run shows while it goes: a bar with time left on a terminal, plain lines elsewhere. On stderr."""

import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from .. import units
from ..records.rows import Row
from ..run.runner import Finished
from .console import messages


class Progress:
    """Redraws only between cases: a refreshing display would compute on the cores that are being measured."""

    def __init__(self, total: int, budget: float, clock=time.monotonic, console: Console | None = None):
        self.console = console or messages()
        self.total, self.clock = total, clock
        self.guess = budget + 4.0
        self.spent: list[float] = []
        self.bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            auto_refresh=False,
            disable=not self.console.is_terminal,
        )

    def __enter__(self):
        self.bar.start()
        self.task = self.bar.add_task("cases", total=self.total, left=self._left(self.total))
        self.bar.refresh()
        self.last = self.clock()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def show(self, finished: Finished) -> None:
        now = self.clock()
        if not finished.resumed:
            self.spent.append(now - self.last)
        self.last = now
        done = self.total - finished.remaining
        if finished.note:
            self.console.print(escape(finished.note), soft_wrap=True)
        left = self._left(finished.remaining)
        line = f"[{done}/{self.total}] {describe(finished)}"
        self.console.print(escape(line) if self.console.is_terminal else escape(f"{line} · {left}"), soft_wrap=True)
        self.bar.update(self.task, completed=done, left=left)
        self.bar.refresh()

    def _left(self, remaining: int) -> str:
        each = sum(self.spent) / len(self.spent) if self.spent else self.guess
        return f"about {units.duration(each * remaining)} left"


def describe(finished: Finished) -> str:
    """One line: who, what, and how it ended."""
    record = finished.record
    case = record.typed_case
    sizes = f"N={case.neurons} T={case.time_steps} {case.precision}"
    what = f"{case.framework_variant} {case.neuron.label()} {sizes} round {record.round + 1}"
    step = Row(case, [record]).median("step", "wall")
    outcome = record.status + (f", step {units.seconds(step)}" if step else "")
    reason = f": {record.reason}" if record.reason else ""
    return f"{what}: {'kept, ' if finished.resumed else ''}{outcome}{reason}"
