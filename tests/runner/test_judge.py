"""What the harness does between a worker and the judge: it relays calls, and answers for the one that
fails."""

from math import inf
from pathlib import Path

import pytest
from support.workers import JudgeWorker, Planned, Worker

from snnbench.executors.executor import CannotStart
from snnbench.executors.launch import Outcome
from snnbench.measure.phases import Draw
from snnbench.runner.judge import Judge, passed
from snnbench.runner.outcome import verdict

CASE, REQUEST = Planned("a").case, {"prove": {"backward": True}}


class Dies(JudgeWorker):
    """Answers nothing to what `dies_at` names."""

    dies_at: str = "prove"

    def order(self, order):
        return None if self.dies_at in order else super().order(order)

    def end(self):
        self.ended = True
        return Outcome(exit_code=1, events=[{"part": "start"}], output_tail="no such product")


def proved(judge, worker):
    return judge.prove(worker, CASE, Path("free.npz"), REQUEST)


def test_calls_go_to_the_worker_and_what_it_gives_to_the_judge():
    process, worker = JudgeWorker(), Worker()
    assert passed(proved(Judge(lambda: process), worker))
    assert [list(order) for order in worker.log] == [["call", "arguments", "dropped"]] * 2
    assert process.log[0] == {
        "case": {},
        "free_run": "free.npz",
        "prove": {"backward": True},
        "folder": "arrays",
    }
    assert process.log[1:] == [{"returned": {"value": None}}] * 2


def test_one_process_judges_all_and_ends_with_its_owner():
    started = []
    judge = Judge(lambda: started.append(JudgeWorker()) or started[-1])
    assert judge.close() == 0.0, "no judge was asked"
    for _ in range(3):
        proved(judge, Worker())
    judge.close()
    assert len(started) == 1 and started[0].ended


class Ends(Worker):
    """Ends when it is called, or has then no time left."""

    def order(self, order):
        self.timed_out = self.seconds_left < 1e9
        self.seconds_left = 0.0 if self.timed_out else self.seconds_left


@pytest.mark.parametrize("seconds_left", [1e9, 7.0], ids=["died", "out of time"])
def test_a_judge_is_told_that_its_worker_has_ended_and_goes_on(seconds_left):
    process, dead = JudgeWorker(), Ends(seconds_left=seconds_left)
    judge = Judge(lambda: process)
    assert proved(judge, dead) == [] and process.log[-1] == {"gone": True}
    assert dead.timed_out == (seconds_left == 7.0)
    assert not process.ended and not process.timed_out
    assert passed(proved(judge, Worker()))


def test_a_judge_that_cannot_leave_a_case_is_replaced():
    first, second = Dies(), JudgeWorker()
    first.dies_at, waiting = "gone", [first, second]
    judge = Judge(lambda: waiting.pop(0))
    assert proved(judge, Ends()) == [] and first.ended
    assert passed(proved(judge, Worker()))


@pytest.mark.parametrize("at", ["prove", "returned"])
def test_a_judge_that_dies_is_an_error_of_this_case_and_another_one_judges_the_next(at):
    first, second = Dies(), JudgeWorker()
    first.dies_at, waiting = at, [first, second]
    judge = Judge(lambda: waiting.pop(0))
    (event,) = proved(judge, Worker())
    assert (event["part"], event["status"]) == ("proof", "error")
    assert (
        event["reason"].startswith("the judge failed: exited with status 1")
        and "no such product" in event["reason"]
    )
    assert first.ended and passed(proved(judge, Worker()))


def test_a_judge_that_cannot_start_is_an_error():
    def start():
        raise CannotStart("no such image")

    (event,) = proved(Judge(start), Worker())
    assert (event["status"], event["reason"]) == ("error", "the judge failed: no such image")


class Slow(JudgeWorker):
    """Computes for four seconds before every answer."""

    def order(self, order):
        self.seconds_left -= 4.0
        return super().order(order)


def test_the_time_of_the_judge_is_no_time_of_the_worker():
    worker = Worker(seconds_left=7.0)
    assert passed(proved(Judge(Slow), worker))
    assert (worker.seconds_left, worker.timed_out, worker.judged_s) == (7.0, False, 12.0)


def test_within_a_limit_worker_and_judge_share_the_time():
    worker = Worker(seconds_left=50.0, duration_s=30.0)
    assert passed(Judge(Slow).prove(worker, CASE, Path("free.npz"), REQUEST, limit=60.0))
    assert worker.seconds_left == 60.0 - 30.0 - 12.0


@pytest.mark.parametrize(("timeout", "limit"), [(7.0, inf), (600.0, 7.0)])
def test_a_judge_without_time_is_an_error_and_the_next_case_has_all_of_it(timeout, limit):
    waiting = [Slow(timeout=timeout), Slow(timeout=20.0)]
    first, second = waiting
    judge = Judge(lambda: waiting.pop(0))
    worker = Worker(seconds_left=7.0)
    (event,) = judge.prove(worker, CASE, Path("free.npz"), REQUEST, limit)
    assert event["reason"] == "the judge failed: no answer within 7 s"
    assert (worker.timed_out, first.ended) == (False, True)
    assert worker.seconds_left == (7.0 if limit == inf else -1.0)
    assert passed(proved(judge, worker)) and passed(proved(judge, worker)) and not second.ended


def test_a_worker_that_comes_to_its_end_without_a_proof_is_rejected():
    events = [
        {"part": "proof", "status": "ok", "proof": {"passed": True}},
        {"part": "end", "cpu_seconds": 0.0},
    ]
    folded = verdict(Outcome(exit_code=0, events=events), "cpu", [], proof_due=True)
    assert (folded["status"], "proof" in folded) == ("check_failed", False)
    assert (
        verdict(Outcome(exit_code=0, events=events), "cpu", [], proof_due=False)["status"] == "ok"
    )


def test_the_file_of_a_free_run_is_restored_before_the_judge_is_told_to_read_it():
    restored, process = [], JudgeWorker()
    judge = Judge(lambda: process, lambda path: restored.append((path, len(process.log))))
    proved(judge, Worker())
    judge.recheck(Worker(), CASE, Path("free.npz"), "step", Draw(0, 1, 2, 3), {"recheck": {}})
    assert restored == [(Path("free.npz"), 0), (Path("free.npz"), 3)]
    assert process.log[3]["draw"] == (0, 1, 2, 3)
