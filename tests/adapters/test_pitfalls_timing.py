"""Pitfalls 1 and 13 to 17: what is timed must be the call that it says, once, on the cores of the
case.

Ways to measure another neuron, or none, that cost people hours; each by its number, with what keeps
us out of it.
"""

import os

import numpy as np
import pytest
import torch
from support.expected import adapter_of
from support.networks import network_of
from support.proofs import problem_of
from support.ready import CURRENTS, READY, TORCH, changed, every_variant, program_of

from snnbench.measure.phases import Draw, Phases

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize(
    "name", ["torch", "snntorch", "spikingjelly:single-step", "torch:stepwise"]
)
def test_1_loops_of_ours_take_time_steps_apart_at_once(name):
    """The backward of `x[t]` writes a gradient of the size of all time steps, at each step:
    O(T²)."""
    program, given = program_of(READY[name]), []
    result = program.forward(program.put_input(CURRENTS))
    if name.endswith("stepwise"):
        given.append(result.x.expand_as(result.x).grad_fn.next_functions[0][0])
    else:
        program.network.layers[0].linear.register_forward_hook(
            lambda module, x, currents: given.append(currents.grad_fn)
        )
        result = program.forward(program.put_input(CURRENTS))
    takers, waiting = set(), [result.output.grad_fn]
    while waiting:
        node = waiting.pop()
        following = [node for node, _ in node.next_functions if node]
        takers |= {node.name() for taken in following if taken is given[-1]}
        waiting += following
    assert takers == {"UnbindBackward0"}


@pytest.mark.slow
def test_13_each_block_of_a_case_is_a_process_of_its_own(snnbench):
    """snnTorch keeps every neuron ever made in a list; JAX keeps memory: figures would drift
    over a session."""
    ended = snnbench.run(
        snnbench.config(["reports-process"], ["process.py:ReportsProcess"], measure="blocks = 3")
    )
    processes = {record["facts"]["backend"] for record in ended.records}
    assert len(ended.records) == len(processes) == 3, ended.stderr


def test_15_jax_is_traced_once_and_waited_for(monkeypatch):
    """JAX returns before it has computed; and a function that is traced again at each call is
    timed tracing."""
    import jax

    traced, awaited = [], []
    right = adapter_of("jax")

    class Listening(type(right)):
        def neuron(self, spec, features):
            neuron = super().neuron(spec, features)
            return lambda currents: (traced.append(None), neuron(currents))[1]

    case = changed("jax", neurons=5, time_steps=3, batch=2)
    problem = problem_of(case, 1.0)
    program = Listening().program(case, network_of(case))
    program.load(problem.parameters)
    x = program.put_input(problem.input)
    counts = []
    for _ in range(3):
        result = program.forward(x)
        upstream = program.put_upstream(problem.upstream, result)
        done = program.backward(result, upstream)
        stepped = program.step(x, upstream)
        program.inference(x)
        counts.append(len(traced))
    assert counts[0] == counts[1] == counts[2]
    monkeypatch.setattr(
        jax, "block_until_ready", lambda tree: awaited.extend(jax.tree_util.tree_leaves(tree))
    )
    for outcome in (result, done, stepped):
        awaited.clear()
        program.wait(outcome)
        leaves = jax.tree_util.tree_leaves(
            (outcome.borders, outcome.residuals, outcome.gradients, outcome.updated)
        )
        assert leaves and {id(leaf) for leaf in leaves} <= {id(leaf) for leaf in awaited}


@pytest.mark.parametrize("name", [name for name in TORCH if ":" not in name])
def test_16_torch_gets_the_threads_of_the_case_and_no_more(name):
    """More threads than cores fight over them: a backward of 15 ms then took 1600 ms."""
    before = torch.get_num_threads()
    try:
        for threads in (2, 1):
            adapter_of(name).prepare(READY[name], threads)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else True,
    reason="needs two cores",
)
def test_16_a_worker_is_bound_to_the_cores_of_the_case(snnbench):
    """Thread variables do not bind XLA's threads; the kernel does."""
    ended = snnbench.run(snnbench.config(["reports-cores"], ["process.py:ReportsCores"]))
    assert ended.record("reports-cores")["facts"]["backend"].startswith("1 of "), ended.stderr
    variables = ended.record("reports-cores")["environment"]["variables"]
    assert {
        variables[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    } == {"1"}


def loaded(name):
    """A small program with its weights, its inputs and the upstream gradient."""
    case = changed(name, neurons=5, time_steps=3, batch=2)
    problem = problem_of(case, 1.0)
    program = adapter_of(name).program(case, network_of(case))
    program.load(problem.parameters)
    inputs = [program.put_input(problem.input)]
    upstream = program.put_upstream(problem.upstream, program.forward(inputs[0]))
    return program, inputs, upstream


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_17_every_backward_is_of_a_graph_of_its_own_and_adds_to_nothing(name):
    """The known comparison repeats its backward on one graph, into gradients that grow."""
    program, inputs, upstream = loaded(name)
    phases = Phases(program, inputs, upstream, 3)
    phases._drawn = lambda *_: Draw(0, 0, 0, 0)
    backward = phases.by_name["backward"]
    gradients = []
    for _ in range(2):
        state = backward.prepare(0)
        gradients.append(program.gradients(backward.call(state)).parameters["linear1"]["weight"])
    assert np.array_equal(*gradients) and gradients[0].any()
    if name == "torch":
        with pytest.raises(RuntimeError, match="second time"):
            program.backward(state, upstream)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_17_no_forward_is_timed_as_backward(name, monkeypatch):
    """The known comparison's backward of Spyx is a gradient of everything, and no forward is
    waited for."""
    program, inputs, upstream = loaded(name)
    called = []
    for method in ("forward", "wait", "backward", "optimize", "step", "inference"):
        own = getattr(program, method)
        monkeypatch.setattr(
            program,
            method,
            lambda *given, own=own, method=method: (called.append(method), own(*given))[1],
        )
    networks, before = (
        [],
        {"backward": ["forward", "wait"], "optimizer": ["forward", "backward", "wait"]},
    )
    for layer in program.network.layers if name == "torch" else ():
        layer.register_forward_hook(lambda *given: networks.append("forward"))
    for called_as, phase in Phases(program, inputs, upstream, 3).by_name.items():
        state = phase.prepare(0)
        assert called == before.get(called_as, [])
        called.clear()
        networks.clear()
        phase.call(state)
        assert called[0] == ("optimize" if called_as == "optimizer" else called_as)
        assert called_as not in before or (len(called) == 1 and not networks)
        called.clear()


@every_variant
def test_17_every_framework_gets_the_same_weights_bias_and_input(name):
    """The known comparison has Spyx without a bias, and on an input of nothing but ones."""
    case = changed(name, neurons=7, time_steps=5, batch=3)
    problem = problem_of(case, 1.0)
    assert set(np.unique(problem.input)) == {0, 1} and problem.parameters["linear1"]["bias"].any()
    program = adapter_of(case.framework).program(case, network_of(case))
    program.load(
        {
            "linear1": {
                "weight": np.zeros((7, 7), np.float32),
                "bias": np.float32([2, -2, 2, -2, 2, -2, 2]),
            }
        }
    )
    spikes = program.spikes(program.inference(program.put_input(problem.input)))["neuron1"]
    assert spikes[0].tolist() == [[1, 0, 1, 0, 1, 0, 1]] * 3
