"""The judge and a worker, two ends of a channel: the verdict is that of a proof in one process,
and results are dropped."""

import json
import subprocess
import sys
from dataclasses import astuple, replace

import numpy as np
import pytest
from support.networks import network_of
from support.paths import FAULTY, WRONG
from support.proofs import gains_of, loaded, proof_of

from snnbench.adapters import registry
from snnbench.core.case import PHASES, Case
from snnbench.core.contract import BuildFailed, Unsupported
from snnbench.measure.phases import Phases, draw_of
from snnbench.proof.free_run import write_free_run
from snnbench.worker.handover import encode
from snnbench.worker.judging import Link, Remote, WorkerEnded, exception_named, serve
from snnbench.worker.serving import ProvedAdapter, Serving, answer_of

CASE = Case("numpy", neurons=31, time_steps=37, batch=3)


class Worker:
    """The other end of the judge's channel: carries its calls out at once, and has `orders` for
    it in between."""

    def __init__(self, folder, *orders, **given):
        self.serving, self.objects = (
            Serving(None, folder, f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"),
            given,
        )
        self.orders_left, self.answers, self.most, self.gone = list(orders), [], 0, False

    def answer(self, answer):
        if "call" not in answer:
            self.answers.append(answer)
            return
        for name in answer["dropped"]:
            self.objects.pop(name, None)
        order = json.loads(json.dumps(answer))
        self.returned = (
            {"gone": True}
            if self.gone
            else {"returned": self.serving._carried_out(order, self.objects)}
        )
        self.most = max(self.most, len(self.objects))

    def order(self):
        return json.loads(json.dumps(self.returned))

    def orders(self):
        yield from self.orders_left


def judged(folder, order, adapter, **given):
    """(events, the worker) of one order to the judge."""
    order = {"case": CASE.as_dict(), "folder": str(folder), "free_run": None, **order}
    worker = Worker(folder, order, adapter=ProvedAdapter(adapter, 1), **given)
    serve(worker)
    _, said = worker.answers
    return said["judged"], worker


@pytest.mark.parametrize(
    "reference",
    [FAULTY / "numpy_network.py:NumpyNetwork", WRONG / "constants.py:DecayOff"],
    ids=str,
)
def test_a_proof_from_afar_is_the_same_proof(tmp_path, reference):
    adapter = registry.load(str(reference))
    ((event,), worker) = judged(tmp_path, {"prove": {"backward": True}}, adapter)
    here = proof_of(adapter, CASE).as_dict()
    assert {key: event["proof"][key] for key in here} == json.loads(json.dumps(here))
    assert (event["part"], event["status"]) == ("proof", "ok" if here["passed"] else "check_failed")
    assert event["reason"] == here["reason"] and event["seconds"] > 0
    assert event["proof"]["gains"] == list(gains_of(CASE).factors.values())
    assert worker.most <= 10, "results of earlier stages are dropped"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("silent", [False, True], ids=["right", "silent"])
def test_the_program_that_is_timed_is_proved_at_its_own_size(tmp_path, silent):
    adapter = registry.load(f"{FAULTY / 'numpy_network.py'}:NumpyNetwork")

    class Timed(adapter.program_class):
        forwards = 0

        def forward(self, x):
            self.forwards += 1
            return super().forward(0 * x if silent else x)

    timed = Timed(CASE, network_of(CASE))
    order = {"prove": {"backward": True, "timed": True}}
    ((event,), _) = judged(tmp_path, order, adapter, program=timed)
    assert timed.forwards >= 2
    assert event["status"] == ("check_failed" if silent else "ok")
    assert not silent or event["reason"].startswith("own size, fp32")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("stale", [False, True], ids=["right", "stale"])
def test_a_recheck_from_afar_sees_what_was_timed(tmp_path, phase, stale):
    (tmp_path / "arrays").mkdir()
    write_free_run(CASE, tmp_path / "free.npz")
    adapter = registry.load(f"{FAULTY / 'numpy_network.py'}:NumpyNetwork")
    program, problem = loaded(adapter, CASE)
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    phases = Phases(program, inputs, problem.upstream, 1)
    timed = phases.by_name[phase]
    result = timed.call(timed.prepare(0))
    answer = answer_of(program, result, phase, phases)
    if stale:
        timed.call(timed.prepare(1))
    told = {"answer": encode(answer, tmp_path / "arrays"), "input_scale": 1.0}
    draw = astuple(draw_of(1, int(stale), phase))
    order = {"recheck": told, "phase": phase, "draw": draw, "free_run": str(tmp_path / "free.npz")}
    events, worker = judged(
        tmp_path / "arrays", order, adapter, program=program, phases=phases, result=result
    )
    assert events[0]["part"] == "recheck" and events[0]["status"] == "ok"
    assert [event["status"] for event in events[1:]] == (["check_failed"] if stale else [])
    assert worker.most <= 8


def test_what_a_call_raises_is_raised_as_its_kind(tmp_path):
    class Raises:
        def forward(self, error):
            raise {"a": Unsupported, "b": BuildFailed, "c": MemoryError, "d": ZeroDivisionError}[
                error
            ]("why")

    program = Remote(Link(Worker(tmp_path, program=Raises()), tmp_path), "program")
    for name, kind in (
        ("a", "Unsupported"),
        ("b", "BuildFailed"),
        ("c", "MemoryError"),
        ("d", "ZeroDivisionError"),
    ):
        with pytest.raises(Exception, match="why") as raised:
            program.forward(name)
        assert type(raised.value).__name__ == kind
    assert isinstance(exception_named("Unsupported", "why"), Unsupported) and isinstance(
        exception_named("BuildFailed", "why"), BuildFailed
    )


@pytest.mark.parametrize(
    "junk",
    ["spikes", None, {"neuron1": np.zeros((3, 3), np.float32)}, {"neuron1": "none"}, object()],
)
def test_spikes_of_any_form_end_as_this_case_alone(tmp_path, junk):
    adapter = registry.load(f"{FAULTY / 'numpy_network.py'}:NumpyNetwork")

    class Odd(adapter.program_class):
        def forward(self, x):
            return replace(super().forward(x), borders=junk)

    adapter.program_class = Odd
    ((event,), _) = judged(tmp_path, {"prove": {"backward": True}}, adapter)
    assert event["status"] in ("error", "check_failed") and event["reason"]


def test_methods_that_the_proof_does_not_need_are_not_called(tmp_path):
    link = Link(Worker(tmp_path, program=[1, 2]), tmp_path)
    with pytest.raises(Exception, match="clear is not called for the judge"):
        Remote(link, "program").clear()


def test_nothing_goes_on_when_the_worker_has_ended(tmp_path):
    adapter = registry.load(f"{FAULTY / 'numpy_network.py'}:NumpyNetwork")
    worker = Worker(tmp_path, adapter=ProvedAdapter(adapter, 1))
    worker.gone = True
    with pytest.raises(WorkerEnded):
        Link(worker, tmp_path).call("adapter", "fixed_point", CASE)
    order = {
        "case": CASE.as_dict(),
        "folder": str(tmp_path),
        "free_run": None,
        "prove": {"backward": True},
    }
    worker.orders_left = [order]
    serve(worker)
    assert worker.answers[-1] == {"judged": []}


def test_the_judge_imports_no_adapter():
    source = "import json, sys, snnbench.worker.judging; print(json.dumps([*sys.modules]))"
    ended = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True
    )
    imported = json.loads(ended.stdout)
    assert "snnbench.core.contract" in imported
    assert [name for name in imported if name.startswith("snnbench.adapters.")] == []


@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt, BaseException])
def test_an_adapter_that_wants_to_leave_is_told_of_by_name(tmp_path, leaving):
    class Leaves:
        def prepare(self, case):
            raise leaving("plain")

    serving = Serving(None, tmp_path, f"{FAULTY / 'numpy_network.py'}:NumpyNetwork")
    order = {"call": ["adapter", "prepare", "0"], "arguments": [None], "dropped": []}
    assert serving._carried_out(order, {"adapter": Leaves()}) == {
        "raised": [leaving.__name__, "plain"]
    }
