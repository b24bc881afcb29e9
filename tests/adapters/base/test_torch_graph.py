"""Mode graph without a GPU: what is refused, and that the phases are put together rightly around
a stand-in for the graph."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from support.expected import adapter_of
from support.networks import network_of
from support.proofs import problem_of, refusal_of

from snnbench.adapters.base import torch_graph
from snnbench.adapters.base.torch_graph import GraphProgram
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.case import PHASES, Case
from snnbench.core.contract import LEARNING_RATE
from snnbench.measure.phases import Phases
from snnbench.proof.limits import limits_of
from snnbench.proof.stages import judge_program
from snnbench.proof.time_axis import time_axis

ODD = {"time_steps": 23, "batch": 3, "neurons": 31}


class Repeated:
    """Instead of a graph: does the work at each replay, and counts. Like a graph it sees only
    memory that it was given once."""

    made: list = []
    peak_bytes, kept_bytes = 1000, 600

    def __init__(self, work, warm_up, pool):
        warm_up()
        self.work, self.pool, self.replays = work, pool, 0
        self.outputs = None
        Repeated.made.append(self)

    def replay(self):
        self.replays += 1
        self.outputs = self.work()


@pytest.fixture
def program_of(monkeypatch):
    monkeypatch.setattr(torch_graph, "Captured", Repeated)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: object())
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(Repeated, "made", [])

    def made(case):
        program, problem = (
            GraphProgram(adapter_of(case.framework), case, network_of(case)),
            problem_of(case),
        )
        program.load(problem.parameters)
        return program, problem

    return made


def test_on_a_cpu_it_is_refused_in_one_sentence():
    assert (
        refusal_of(TorchLoop(), Case("torch", mode="graph"))
        == "mode graph is a CUDA graph, which needs a CUDA device"
    )
    assert refusal_of(TorchLoop(), Case("torch", mode="graph", device="cuda")) is None


@pytest.mark.parametrize(
    "changes", [{}, {"layers": 2}, {"input_grad": False}, {"workload": "lif", "bias": False}]
)
@pytest.mark.parametrize("construction", ["default", "stepwise"])
def test_it_is_the_same_network(program_of, construction, changes):
    if construction == "stepwise" and "workload" in changes:
        return
    case = Case("torch", construction, "graph", **ODD, **changes)
    program, problem = program_of(case)
    verdict = judge_program(
        program, problem, limits_of(case, network_of(case)), sleep=lambda _: None
    )
    assert verdict.passed, verdict.findings
    assert time_axis(program, problem).findings == []


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(
    "construction", ["linear-split", "linear-recompute", "linear-split-recompute"]
)
def test_our_linear_constructions_are_too(program_of, construction, layers):
    case = Case("fused", construction, "graph", layers=layers, **ODD)
    program, problem = program_of(case)
    verdict = judge_program(
        program, problem, limits_of(case, network_of(case)), sleep=lambda _: None
    )
    assert verdict.passed, verdict.findings


def test_a_stack_with_a_fault_between_its_layers_is_not(program_of, monkeypatch):
    """Planted: the second graph call sees the spikes of the first, as of memory that was not
    written again."""
    case = Case("torch", "default", "graph", layers=2, **ODD)
    program, problem = program_of(case)
    first, spikes = program.network.layers[0].forward, []
    program.network.layers[0].forward = lambda x: spikes.append(first(x)) or spikes[0]
    assert not judge_program(
        program, problem, limits_of(case, network_of(case)), sleep=lambda _: None
    ).passed


def test_each_phase_is_captured_once_and_forward_and_backward_share_their_memory(program_of):
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    upstream = program.put_upstream(problem.upstream, program.forward(inputs[0]))
    parts = Phases(program, inputs, upstream, 3).by_name
    for name in PHASES:
        for index in range(3):
            parts[name].call(parts[name].prepare(index))
    assert set(program.graphs) == set(PHASES)
    assert len(Repeated.made) == len(PHASES)
    pools = {name: graph.pool for name, graph in program.graphs.items()}
    assert pools["forward"] is pools["backward"]
    assert len(set(map(id, pools.values()))) == len(PHASES) - 1
    replays = {name: graph.replays for name, graph in program.graphs.items()}
    assert replays == {"forward": 10, "backward": 6, "optimizer": 3, "step": 3, "inference": 3}


def test_a_step_gives_the_gradients_of_forward_and_backward_and_updates_the_weights(program_of):
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    x = program.put_input(problem.input)
    result = program.forward(x)
    upstream = program.put_upstream(problem.upstream, result)
    wanted = program.gradients(program.backward(result, upstream))
    weight = program.parameters["linear1"]["weight"]
    before = weight.detach().clone()
    for _ in range(3):
        program.roll_parameters(0)
        gradients = program.gradients(program.step(x, upstream))
        by_weight = (
            problem.parameters["linear1"]["weight"] - gradients.updated["linear1"]["weight"]
        ) / LEARNING_RATE
        assert np.allclose(
            by_weight, wanted.parameters["linear1"]["weight"], rtol=1e-6, atol=1e-6
        ), "gradients do not add up"
        assert np.array_equal(gradients.input, wanted.input)
        assert not torch.equal(weight, before)
        program.roll_parameters(0)
        assert torch.equal(weight, before)


def test_warm_ups_leave_no_trace_in_running_statistics(program_of):
    program, problem = program_of(
        Case("torch", workload="contract", mode="graph", time_steps=5, batch=3)
    )
    eager = TorchLoop().program(
        case := Case("torch", workload="contract", time_steps=5, batch=3), network_of(case)
    )
    eager.load(problem.parameters)
    given, expected = (
        one.statistics(one.forward(one.put_input(problem.input))) for one in (program, eager)
    )
    assert np.allclose(given["norm1"]["mean"], expected["norm1"]["mean"])


def test_a_forward_shows_no_gradient_of_an_earlier_call(program_of):
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    x = program.put_input(problem.input)
    result = program.forward(x)
    program.backward(result, program.put_upstream(problem.upstream, result))
    program.release()
    assert program.forward(x).x.grad is None
    assert [leaf.grad for leaf in program.leaves] == [None, None]


def test_memory_is_what_capturing_took(program_of, monkeypatch):
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 5000)
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    probe = program.memory_probe()
    result = program.forward(program.put_input(problem.input))
    probe.reset()
    assert probe.peak() == (600, 1600, 5000), "what the held forward keeps counts as there already"
    del result
    probe.reset()
    assert probe.peak() == (0, 1000, 5000)


def test_what_graphs_hold_is_not_kept_beside_them(program_of, monkeypatch):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 10_000)
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    probe = program.memory_probe()
    assert probe.in_use() == 10_000
    program.forward(program.put_input(problem.input))
    assert probe.in_use() == 10_000 - 600 - problem.input.nbytes, (
        "nor is its input, which is weighed as an argument"
    )


def test_a_timed_call_copies_nothing(program_of):
    program, problem = program_of(Case("torch", mode="graph", **ODD))
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    result = program.forward(inputs[0])
    program.backward(result, upstream := program.put_upstream(problem.upstream, result))
    phases = Phases(program, inputs, upstream, 3)

    def writes(call, *given):
        before = [tensor._version for tensor in program.fixed_memory.values()]
        call(*given)
        return sum(tensor._version for tensor in program.fixed_memory.values()) - sum(before)

    for phase in phases.by_name.values():
        for index in range(3):
            assert writes(phase.call, phase.prepare(index)) == 0
    assert program.fixed_memory == {"x": phases.buffer, "upstream": phases.upstream}
    assert writes(program.step, inputs[0], upstream) == 2, (
        "planted: given in other memory it is copied"
    )


class Once(Repeated):
    """Like a graph it does its work when it is captured; replaying it does nothing here."""

    def __init__(self, work, warm_up, pool):
        super().__init__(work, warm_up, pool)
        self.outputs = work()

    def replay(self):
        self.replays += 1


def test_a_backward_is_captured_whatever_was_written_since_its_forward(program_of, monkeypatch):
    monkeypatch.setattr(torch_graph, "Captured", Once)

    def gradient():
        program, problem = program_of(Case("torch", mode="graph", **ODD))
        for array in (problem.input, problem.other_input):
            result = program.forward(program.put_input(array))
        program.backward(result, program.put_upstream(problem.upstream, result))
        return program.leaves[0].grad

    assert gradient().abs().sum() > 0
    monkeypatch.setattr(GraphProgram, "_memory", lambda program, name: program.fixed_memory[name])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradient()
