"""Without a terminal nobody waits for more than 30 s without a line that says what runs."""

import io
import re
import threading

from rich.console import Console
from support.synthetic import record
from support.workers import Clock

from snnbench.runner.execute import CaseReport
from snnbench.runner.progress import Heartbeat, Progress, one_by_one


def clock():
    return Clock.now


def test_what_runs_is_said_every_30_s_with_how_long_it_has_run():
    said = []
    heartbeat = Heartbeat(said.append, clock)
    heartbeat.runs("block 1: proving norse soft")
    for Clock.now in (1.0, 29.0, 31.0, 40.0, 62.0):
        heartbeat.beat()
    assert said == ["block 1: proving norse soft · 31 s", "block 1: proving norse soft · 62 s"]


def test_short_things_one_after_the_other_are_no_excuse():
    said = []
    heartbeat = Heartbeat(said.append, clock)
    for Clock.now in range(0, 70, 7):
        heartbeat.beat()
        heartbeat.runs(f"pass at {Clock.now}")
    assert said == ["pass at 28 · 7 s"]


def test_a_line_of_a_case_counts_and_where_nothing_runs_nothing_is_said():
    said = []
    heartbeat = Heartbeat(said.append, clock)
    Clock.now = 31.0
    assert heartbeat.beat() == 30.0 and not said, "nothing runs"
    heartbeat.runs("proving norse")
    Clock.now = 50.0
    heartbeat.note_line()
    Clock.now = 65.0
    assert heartbeat.beat() == 15.0 and not said


class Stream(io.StringIO):
    """Tells that a line came."""

    def __init__(self):
        super().__init__()
        self.came = threading.Event()

    def write(self, text):
        super().write(text)
        if "proving" in text:
            self.came.set()


def shown(terminal):
    stream = Stream()
    progress = Progress(Console(file=stream, width=200, force_terminal=terminal), 2, 5.0, clock)
    return stream, progress


def test_a_run_without_a_terminal_has_such_lines_in_a_thread_that_ends_with_it():
    stream, progress = shown(terminal=False)
    progress.tell("block 1: proving norse")
    Clock.now = 35.0
    with progress:
        assert stream.came.wait(30), "no line came"
    assert stream.getvalue() == "block 1: proving norse · 35 s\n"
    assert not progress.heartbeat._thread.is_alive()


def test_a_bar_moves_with_passes_and_not_only_with_blocks():
    _, progress = shown(terminal=True)
    progress.tell("block 1: proving norse")
    (task,) = progress.bar.tasks
    assert task.completed == 0
    progress.tell("pass 6 of 10, 2 cases", 1.0)
    assert task.completed == 1.0


def test_a_narrow_terminal_keeps_the_count_and_the_elapsed_time():
    console = Console(file=Stream(), width=60, force_terminal=True, color_system=None)
    with Progress(console, 20, 1.0) as progress:
        progress.tell("block 1: proving spikingjelly soft-undecayed mlp N=256 T=100 B=64 L=3")
        line = console.file.getvalue().splitlines()[-1]
    assert console.file.getvalue().splitlines()[-2].rstrip().endswith("0:00:00"), "nothing runs"
    assert re.search(r" 0/20 \d:\d\d:\d\d block 1: proving spiking.*…", line), line


def test_what_is_done_one_by_one_has_such_lines_too():
    stream = Stream()
    with one_by_one(Console(file=stream, width=200), "proving", 2, every=1e-3) as begin:
        begin("norse [soft] fp32")
        assert stream.came.wait(30), "no line came"
    assert stream.getvalue().startswith("[1/2] proving norse [soft] fp32 · ")


def test_on_a_terminal_every_name_is_shown_at_once():
    stream = Stream()
    console = Console(file=stream, width=200, force_terminal=True, color_system=None)
    with one_by_one(console, "proving", 2) as begin:
        begin("norse soft fp32")
        begin("torch soft fp32")
    assert stream.getvalue().splitlines() == [
        "[1/2] proving norse soft fp32",
        "[2/2] proving torch soft fp32",
    ]


def test_the_line_of_a_case_is_one_of_them():
    stream, progress = shown(terminal=False)
    progress.tell("block 1: proving norse")
    Clock.now = 29.0
    progress.show(CaseReport(record("torch"), False, 1, 2, 1))
    Clock.now = 35.0
    assert progress.heartbeat.beat() == 24.0 and not stream.came.is_set()


def test_on_a_terminal_the_progress_line_says_it():
    stream, progress = shown(terminal=True)
    with progress:
        progress.tell("block 1: proving norse")
        assert stream.came.is_set() and not progress.heartbeat._thread.is_alive()
