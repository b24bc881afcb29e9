"""The judge of a run or a check: a process that imports no adapter.

It calls the programs in a worker through this process, which passes its orders on.
"""

from collections.abc import Callable
from dataclasses import astuple
from math import inf
from pathlib import Path
from typing import Any

from ..core.case import Case
from ..executors.executor import CannotStart
from ..executors.launch import Launched
from ..measure.phases import Draw
from .outcome import last_line, verdict

Event = dict[str, Any]
GOODBYE_S = 30.0
"""Seconds in which the judge must leave a case, or end."""


class Judge:
    """Starts the judge's process when it is first needed, and again after it died.

    `start` raises CannotStart. `restore` undoes what workers did to the file of a free run.

    judge = Judge(launcher.judge)
    events = judge.prove(worker, case, material=None, request=worker.answer())
    judge.close()
    """

    def __init__(
        self, start: Callable[[], Launched], restore: Callable[[Path], None] = lambda path: None
    ):
        self._start, self._restore = start, restore
        self._process: Launched | None = None

    def prove(
        self,
        worker: Launched,
        case: Case,
        material: Path | None,
        request: dict[str, Any],
        limit: float = inf,
    ) -> list[Event]:
        """Returns the proof's events for the case's record, none if the worker ended meanwhile.

        `material` is the file or folder that the case is judged by (None: the judge computes it),
        `request` the worker's answer that asks for the proof. Worker and judge together compute
        for at most `limit` seconds, what the worker has computed before included.
        """
        order = {**self._case(case, material), "prove": request["prove"]}
        return self._ask(worker, "proof", order, limit)

    def recheck(
        self,
        worker: Launched,
        case: Case,
        material: Path,
        phase: str,
        draw: Draw,
        request: dict[str, Any],
    ) -> list[Event]:
        """Returns events on the last timed call of a phase, none if the worker ended meanwhile.

        `draw` says which input, parameters and upstream the call had.
        """
        order = {
            **self._case(case, material),
            "phase": phase,
            "draw": astuple(draw),
            "recheck": request.get("recheck"),
        }
        return self._ask(worker, "recheck", order)

    def close(self) -> float | None:
        """Ends the process and returns its CPU seconds, None if unknown."""
        process, self._process = self._process, None
        if process is None:
            return 0.0
        process.seconds_left = GOODBYE_S
        try:
            process.order({"end": True})
        finally:
            outcome = process.end()
        return outcome.cpu_seconds

    def _case(self, case: Case, material: Path | None) -> dict[str, Any]:
        if material:
            self._restore(material)
        return {
            "case": case.as_dict(),
            "recordings" if case.delivers_data else "free_run": material and str(material),
        }

    def _ask(
        self, worker: Launched, part: str, order: dict[str, Any], limit: float = inf
    ) -> list[Event]:
        """Returns the judge's answer to an order, after all calls that it made in the worker.

        The worker's time passes in these calls only; the judge has a timeout of its own.
        """
        try:
            judge = self._process or self._start()
        except CannotStart as error:
            return _failed(part, str(error))
        answer = {} if self._process else judge.answer()
        self._process = judge
        judge.seconds_left = min(judge.timeout, limit - worker.duration_s)
        if answer is not None:
            answer = _answer(judge, worker, {**order, "folder": str(worker.arrays)}, limit)
        while answer is not None and "call" in answer:
            returned = worker.order(answer)
            if returned is None:
                self._forget(judge)
                return []
            answer = _answer(judge, worker, {"returned": returned}, limit)
        if answer is not None:
            events: list[Event] = answer["judged"]
            return events
        self._process = None
        ended = judge.end()
        if judge.timed_out:
            return _failed(part, f"no answer within {min(judge.timeout, limit):.0f} s")
        reason = verdict(ended, "cpu")["reason"]
        return _failed(part, reason if ended.complete else f"{reason} {last_line(ended)}")

    def _forget(self, judge: Launched) -> None:
        """Tells the judge that its worker has ended, so that it waits for the next case."""
        judge.seconds_left = GOODBYE_S
        if judge.order({"gone": True}) is None:
            self._process = None
            judge.end()


def passed(events: list[Event]) -> bool:
    """True if the judge rejected nothing."""
    return bool(events) and all(event["status"] == "ok" for event in events)


def _answer(
    judge: Launched, worker: Launched, order: dict[str, Any], limit: float
) -> dict[str, Any] | None:
    """Returns the judge's answer, None without one, and notes its time for the worker, which has
    the rest of `limit`."""
    before = judge.seconds_left
    answer = judge.order(order)
    worker.note_judging(before - judge.seconds_left)
    worker.seconds_left = min(worker.seconds_left, limit - worker.duration_s)
    return answer


def _failed(part: str, why: str) -> list[Event]:
    return [{"part": part, "status": "error", "reason": f"the judge failed: {why}"}]
