"""The judge process. It imports no adapter: it proves and rechecks through calls in a worker."""

import time
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from ..core.case import NO_NETWORK, Case
from ..core.contract import (
    CONTRACT_ERRORS,
    Adapter,
    BuildFailed,
    FixedPoint,
    OtherNetwork,
    Program,
    Unsupported,
)
from ..core.network import Network
from ..core.status import in_words, status_of
from ..measure.phases import Draw, Phases
from ..proof.calibration import calibrate
from ..proof.free_run import FreeRun, free_run, read_free_run
from ..proof.limits import limits_of
from ..proof.native import on_stronger_input
from ..proof.problem import Problem, problem_case
from ..proof.recheck import Timed, recheck
from ..proof.stages import problem_of, prove
from ..workloads import workload_of
from ..workloads.recipes import trained_on
from .channel import Channel
from .handover import Reference, decode, encode
from .judging_data import prove_data, recheck_data
from .serving import RESULT_STAYS

Event = dict[str, Any]


class WorkerEnded(BaseException):
    """The worker has ended or is out of time. A BaseException, so that no `except Exception`
    catches it."""


class Link:
    """The connection to a worker's objects.

    Arrays are exchanged in `folder`. `dropped` are names of objects that the worker may free.
    """

    def __init__(self, channel: Channel, folder: Path):
        self.channel, self.folder = channel, folder
        self.dropped, self.numbers = list[str](), count()

    def call(self, owner: str, method: str, *arguments: Any) -> Any:
        """Calls a method in the worker and returns its result. Raises its error, or WorkerEnded."""
        name, dropped, self.dropped = str(next(self.numbers)), self.dropped, []
        sent = [
            encode(Reference(value.name) if isinstance(value, Remote) else value, self.folder)
            for value in arguments
        ]
        self.channel.answer({"call": [owner, method, name], "arguments": sent, "dropped": dropped})
        order = self.channel.order()
        if "gone" in order:
            raise WorkerEnded
        answer = order["returned"]
        if "raised" in answer:
            kind, text = answer["raised"]
            raise exception_named(str(kind), str(text))
        if method in RESULT_STAYS:
            return Remote(self, name)
        return decode(answer["value"], self.folder)


class Remote:
    """A proxy of an object in the worker. Methods run in the worker, and the worker may free the
    object once the proxy is deleted."""

    def __init__(self, link: Link, name: str):
        self.link, self.name = link, name

    def __getattr__(self, method: str) -> Any:
        return partial(self.link.call, self.name, method)

    def __del__(self) -> None:
        self.link.dropped.append(self.name)


class RemoteAdapter(Adapter):
    """A proxy of the worker's adapter, with the methods that the proof calls."""

    name = "remote"

    def __init__(self, link: Link):
        self.remote = Remote(link, "adapter")

    def fixed_point(self, case: Case) -> FixedPoint | None:
        return cast(FixedPoint | None, self.remote.fixed_point(case))

    def prepare(self, case: Case, threads: int) -> None:
        """The worker has its own number of threads."""
        self.remote.prepare(case)

    def program(self, case: Case, network: Network) -> Program:
        """Raises the errors of the adapters' contract, and BuildFailed for any other."""
        try:
            return cast(Program, self.remote.program(case))
        except Exception as error:
            if isinstance(error, CONTRACT_ERRORS):
                raise
            raise BuildFailed(in_words(error)) from error


def exception_named(kind: str, text: str) -> Exception:
    """Returns an exception of the adapters' contract, or of a new class with the name `kind`."""
    known = {error.__name__: error for error in CONTRACT_ERRORS}
    return known.get(kind, type(kind, (Exception,), {}))(text)


def serve(channel: Channel) -> None:
    """Carries out orders to prove and recheck; answers each with events for the case's record."""
    channel.answer({"ready": {}})
    for order in channel.orders():
        link, case = Link(channel, Path(order["folder"])), Case.from_dict(order["case"])
        start, part = time.perf_counter(), "proof" if "prove" in order else "recheck"
        events: list[Event] = []
        try:
            events = CARRY_OUT[part, case.delivers_data](link, case, order)
        except WorkerEnded:
            pass
        except Exception as error:
            status, reason = status_of(error, "error", case.device)
            events = [{"part": part, "status": status, "reason": reason}]
        spent = {part: {"seconds": time.perf_counter() - start}}
        channel.answer({"judged": [event | spent.get(event["part"], {}) for event in events]})


def _prove(link: Link, case: Case, order: dict[str, Any]) -> list[Event]:
    workload = workload_of(case)
    free = _free_run(order["free_run"], case)
    if free.unsuitable:
        raise Unsupported(free.unsuitable)
    proof = prove(
        RemoteAdapter(link),
        case,
        workload,
        free.gains,
        backward=bool(order["prove"]["backward"]),
        seeded=free.seeded,
        timed=cast(Program, Remote(link, "program")) if order["prove"].get("timed") else None,
    )
    status = {"status": "ok" if proof.passed else "check_failed", "reason": proof.reason}
    stages = {**proof.as_dict(), **free.facts(workload.network(case))}
    return [
        {"part": "proof", **status, "other_reset": proof.has_other_reset, "proof": stages},
    ]


def _recheck(link: Link, case: Case, order: dict[str, Any]) -> list[Event]:
    """Returns an event `recheck`, which is always ok and gets the seconds, and one that refuses the
    phase if its last timed call is wrong."""
    result, phase = order["recheck"], order["phase"]
    fixed = RemoteAdapter(link).fixed_point(case)
    try:
        answer, draw = _handed_over(link, result), Draw(*order["draw"])
    except OtherNetwork as error:
        refused = {"status": "check_failed", "reason": f"last timed call: {error}"}
        return [{"part": "recheck", "status": "ok"}, {"part": phase, **refused}]
    # Frameworks of a comparison share the cached problem.
    problem = _problem(problem_case(case), order["free_run"], fixed, float(result["input_scale"]))
    limits = limits_of(case, problem.network, fixed)
    program, phases = cast(Program, Remote(link, "program")), cast(Phases, Remote(link, "phases"))
    refused = recheck(
        program,
        problem,
        phases,
        Timed(phase, case.precision, draw, Remote(link, "result"), answer),
        limits,
    )
    return [{"part": "recheck", "status": "ok"}, *([{"part": phase, **refused}] if refused else [])]


def _prove_data(link: Link, case: Case, order: dict[str, Any]) -> list[Event]:
    """Returns events on the frames and then on the network that trains on them."""
    (event,) = prove_data(Remote(link, "delivery"), case, Path(order["recordings"]))
    if event["status"] != "ok" or case.behind == NO_NETWORK:
        return [event]
    behind = trained_on(case, *order["prove"]["variant"])
    workload = workload_of(behind)
    gains = calibrate(behind, workload.network(behind))
    proof = prove(RemoteAdapter(link), behind, workload, gains)
    reason = proof.reason and f"the network behind, {proof.reason}"
    event["proof"] |= {
        "passed": proof.passed,
        "reason": reason,
        "loosened": proof.loosened,
        "stages": [*event["proof"]["stages"], *proof.as_dict()["stages"]],
    }
    return [{**event, "status": "ok" if proof.passed else "check_failed", "reason": reason}]


def _recheck_data(link: Link, case: Case, order: dict[str, Any]) -> list[Event]:
    return recheck_data(
        _handed_over(link, order["recheck"]), case, Path(order["recordings"]), Draw(*order["draw"])
    )


CARRY_OUT = {
    ("proof", False): _prove,
    ("proof", True): _prove_data,
    ("recheck", False): _recheck,
    ("recheck", True): _recheck_data,
}
"""Functions by the part of a record and by whether the case loads data."""


def _handed_over(link: Link, result: dict[str, Any]) -> Any:
    """Returns the result of the last timed call, or raises the error that the worker reported."""
    if "raised" in result:
        raise exception_named(*map(str, result["raised"]))
    return decode(result["answer"], link.folder)


def _free_run(path: str | None, case: Case) -> FreeRun:
    return (
        free_run(case, workload_of(case).network(case))
        if path is None
        else read_free_run(Path(path))
    )


@lru_cache(maxsize=1)
def _problem(case: Case, path: str | None, fixed: FixedPoint | None, input_scale: float) -> Problem:
    """Returns the timed problem."""
    free = _free_run(path, case)
    network = free.of(workload_of(case).network(case))
    problem = replace(problem_of(case, network, free.gains, fixed), statistics=free.statistics)
    return on_stronger_input(problem, input_scale)
