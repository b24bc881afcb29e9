"""The judge of a run or a check: a process that imports no adapter. It calls what a worker holds through this one."""

from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from ..core.case import DATA, Case
from ..executors.executor import CannotStart
from ..executors.launch import Launched
from ..measure.phases import Draw
from .outcome import last_line, verdict

Event = dict[str, Any]
GOODBYE_S = 30.0
"""That the judge may take to leave a case, or to end."""


class Judge:
    """Starts its process at the first need, and another one if that died. `start` raises CannotStart; `restore` makes sure that
    the file of a free run is as it was, whatever workers did to it.

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
        self, worker: Launched, case: Case, material: Path | None, request: dict[str, Any]
    ) -> list[Event]:
        """Events for the case's record on its proof, none if the worker ended meanwhile. `material` is what the
        case is judged by (None: the judge computes it), `request` how the worker asked to be proved."""
        return self._hear(
            worker, "proof", {**self._case(case, material), "prove": request["prove"]}
        )

    def recheck(
        self,
        worker: Launched,
        case: Case,
        material: Path,
        phase: str,
        draw: Draw,
        request: dict[str, Any],
    ) -> list[Event]:
        """Events on the last timed call of a phase, whose values were those of `draw`; none if the worker ended meanwhile."""
        order = {
            **self._case(case, material),
            "phase": phase,
            "draw": astuple(draw),
            "recheck": request.get("recheck"),
        }
        return self._hear(worker, "recheck", order)

    def close(self) -> float | None:
        """End the process; the CPU seconds that it used, None if nobody knows."""
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
            "recordings" if case.workload == DATA else "free_run": material and str(material),
        }

    def _hear(self, worker: Launched, part: str, order: dict[str, Any]) -> list[Event]:
        """What the judge answers to an order, after all calls that it had carried out in the worker. The worker's time is spent
        while the judge computes."""
        try:
            judge = self._process or self._start()
        except CannotStart as error:
            return _failed(part, str(error))
        answer = {} if self._process else judge.answer()
        self._process = judge
        if answer is not None:
            answer = _answer(judge, worker, {**order, "folder": str(worker.arrays)})
        while answer is not None and "call" in answer:
            returned = worker.order(answer)
            if returned is None:
                self._forget(judge)
                return []
            answer = _answer(judge, worker, {"returned": returned})
        if answer is not None:
            events: list[Event] = answer["judged"]
            return events
        self._process = None
        ended = judge.end()
        if worker.timed_out:
            return []
        reason = verdict(ended, "cpu")["reason"]
        return _failed(part, reason if ended.complete else f"{reason} {last_line(ended)}")

    def _forget(self, judge: Launched) -> None:
        """Tell the judge that its worker has ended, so that it waits for the next case."""
        judge.seconds_left = GOODBYE_S
        if judge.order({"gone": True}) is None:
            self._process = None
            judge.end()


def passed(events: list[Event]) -> bool:
    """Whether the judge found nothing wrong."""
    return bool(events) and all(event["status"] == "ok" for event in events)


def _answer(judge: Launched, worker: Launched, order: dict[str, Any]) -> dict[str, Any] | None:
    """The judge's answer within the time that the worker has left; without one the worker counts as out of time if there is
    none left."""
    before = judge.seconds_left = worker.seconds_left
    answer = judge.order(order)
    worker.spend(before - judge.seconds_left)
    worker.timed_out = worker.timed_out or judge.timed_out
    return answer


def _failed(part: str, why: str) -> list[Event]:
    return [{"part": part, "status": "error", "reason": f"the judge failed: {why}"}]
