"""How a case ends if its worker is gone before the judge has proved it: it is refused only if the
worker itself said that it has ended."""

import select
from types import SimpleNamespace

import pytest
from support.scripted import END, Scripted
from support.workers import JudgeWorker, Planned

from snnbench.executors.launch import Launched, Outcome, Surroundings
from snnbench.runner.check import Checker
from snnbench.runner.judge import Judge
from snnbench.runner.outcome import verdict

ASKS = """answer('{"prove": {}}')\n"""
WAITS = "open(orders).readline()\n"


class Late(JudgeWorker):
    """Computes for all the time that it has."""

    def order(self, order):
        self.seconds_left, self.timed_out = 0.0, True


class LateForDead(Late):
    """The worker has ended meanwhile."""

    def order(self, order):
        assert select.select([started[-1].running], [], [], 30.0)[0], "it has ended"
        super().order(order)


started = []
LATE = "the judge failed: no answer within 600 s"


@pytest.mark.parametrize(
    ("text", "judge", "status", "reason"),
    [
        (f"{WAITS}{END}", Late, "error", LATE),
        (f"{END}; os._exit(0)", LateForDead, "error", LATE),
        ("os._exit(3)", LateForDead, "error", LATE),
        (
            f"{WAITS}os._exit(3)",
            JudgeWorker,
            "crash",
            "exited with status 3 in part 'import' before it was through",
        ),
        (
            f"{WAITS}os.kill(os.getpid(), signal.SIGKILL)",
            JudgeWorker,
            "crash",
            "killed by SIGKILL in part 'import'",
        ),
        (
            f"{WAITS}{END}; os._exit(3)",
            JudgeWorker,
            "crash",
            "exited with status 3 in part 'proof' before it was through",
        ),
        (
            f"{WAITS}{END}; os.kill(os.getpid(), signal.SIGSEGV)",
            JudgeWorker,
            "crash",
            "killed by SIGSEGV in part 'proof'",
        ),
        (
            f"{WAITS}{END}; os._exit(0)",
            JudgeWorker,
            "check_failed",
            "its worker ended before the judge had proved the case",
        ),
    ],
)
def test_a_worker_that_is_gone_before_it_was_proved(
    tmp_path, monkeypatch, text, judge, status, reason
):
    def start(verb, *_):
        surroundings = Surroundings(tmp_path, 30.0, executor=Scripted(text=ASKS + text))
        started.append(Launched(verb, {}, surroundings))
        return started[-1]

    checker = Checker(tmp_path, 30.0)
    monkeypatch.setattr(checker, "_start", start)
    checker.judge = Judge(lambda: judge(timeout=600.0))
    case = SimpleNamespace(**vars(Planned("a")) | {"device": "cpu"})
    planned = SimpleNamespace(
        status=None, case=case, environment=SimpleNamespace(executor=None), task=lambda: case
    )
    checked = checker.prove(planned)
    assert (checked.status, checked.reason) == (status, reason)


def test_a_worker_that_ends_when_its_time_is_over_is_out_of_time():
    events = [{"part": "import", "status": "ok"}, {"part": "end", "cpu_seconds": 0.0}]
    folded = verdict(
        Outcome(exit_code=0, timed_out=True, events=events, duration_s=30.0), "cpu", proof_due=True
    )
    assert (folded["status"], folded["reason"]) == (
        "timeout",
        "no end after 30 s, stopped in part 'proof'",
    )
    assert verdict(Outcome(exit_code=3, events=events), "cpu")["status"] == "ok", "it owes no proof"
