"""Nineteen ways to measure another neuron, or none, that cost people hours; each by its number, with what keeps us out of it.

Most are held against every variant that is ready on a CPU: four neurons, each with a current of its own, answer what a network
of these constants must answer. 11, a package that runs pip when imported, is kept out where workers start: see test_sandbox.py.
What concerns frameworks in environments of their own (5, 6, 7, 8 and 18 of lava-dl) is proved there: see test_homes.py.
"""

import functools
import importlib
import os
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from snnbench.adapters import JaxAdapter, TorchAdapter, registry
from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.measure.phases import phases
from snnbench.proof.problem import calibrate, generate, proved
from snnbench.proof.stages import prove
from snnbench.run.variants import twins

pytestmark = pytest.mark.frameworks

BELOW, ABOVE, THRICE, TWICE = range(4)
CURRENTS = np.zeros((3, 1, 4), np.float32)
CURRENTS[0, 0] = 0.999, 1.001, 3.5, 0.6
CURRENTS[1, 0, TWICE] = 0.6
"""(T, B, N). Just below the threshold and just above it once; above three times the threshold; and 0.6 twice, of which the
second crosses the threshold if, and only if, the first is still remembered."""


@pytest.fixture(autouse=True, scope="module")
def surroundings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "samna", None)
        patch.setenv("JAX_PLATFORMS", "cpu")
        patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
        yield


@functools.cache
def adapter_of(name):
    return registry.load(registry.BUILT_IN[name])


def ready() -> dict[str, Case]:
    """Every variant in eager mode that has a neuron here, with the first that it has."""
    found = {}
    for name in registry.BUILT_IN:
        adapter = adapter_of(name)
        if any(find_spec(module.partition(".")[0]) is None for module in adapter.requires):
            continue
        for construction in adapter.constructions:
            sizes = {"neurons": 4, "time_steps": 3, "batch": 1, "input": "dense"}
            cases = [Case(name, construction, neuron=spec, **sizes) for spec in twins().values()]
            if accepted := [case for case in cases if adapter.refuses(case) is None]:
                found[accepted[0].framework_variant] = accepted[0]
    return found


READY = ready()
TORCH = [name for name, case in READY.items() if isinstance(adapter_of(case.framework), TorchAdapter)]
JAX = [name for name, case in READY.items() if isinstance(adapter_of(case.framework), JaxAdapter)]
every_variant = pytest.mark.parametrize("name", READY)


def program_of(case):
    """Its network with weights that hand the inputs on as they are."""
    adapter_of(case.framework).prepare(case, 1)
    program = adapter_of(case.framework).program(case)
    program.load([np.eye(case.neurons, dtype=np.float32)], [np.zeros(case.neurons, np.float32)])
    return program


@functools.cache
def answers(name):
    """(T, N) spikes of the four neurons, in a first call and in a second."""
    program = program_of(READY[name])
    x = program.put_input(CURRENTS)
    return [program.spikes(program.inference(x))[-1][:, 0] for _ in range(2)]


def changed(name, **changes):
    case = READY[name]
    return Case(case.framework, case.construction, neuron=case.neuron, **changes)


def proof_of(case):
    return prove(adapter_of(case.framework), case, calibrate(proved(case)), sleep=lambda seconds: None)


# -- 1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch", "snntorch", "spikingjelly:single-step", "torch:stepwise"])
def test_1_loops_of_ours_take_time_steps_apart_at_once(name):
    """The backward of `x[t]` writes a gradient of the size of all time steps, at each step: O(T²)."""
    program, given = program_of(READY[name]), []
    result = program.forward(program.put_input(CURRENTS))
    if name.endswith("stepwise"):
        given.append(result.x.expand_as(result.x).grad_fn.next_functions[0][0])
    else:
        program.layers[0].linear.register_forward_hook(lambda module, x, currents: given.append(currents.grad_fn))
        result = program.forward(program.put_input(CURRENTS))
    takers, waiting = set(), [result.borders[-1].grad_fn]
    while waiting:
        node = waiting.pop()
        following = [node for node, _ in node.next_functions if node]
        takers |= {node.name() for taken in following if taken is given[-1]}
        waiting += following
    assert takers == {"UnbindBackward0"}


# -- 2 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spikingjelly", "norse", "snntorch"])
def test_2_the_same_spikes_with_another_gradient_are_rejected(name):
    """A reset through which the gradient passes, and one through which it does not, give the same spikes."""
    right = adapter_of(name)

    class Attached(type(right)):
        def neuron(self, spec, features):
            reset = "soft" if name == "snntorch" else "hard"
            return super().neuron(NeuronSpec(reset, detach_reset=reset == "soft"), features)

    spec = NEURONS["soft" if name == "snntorch" else "hard"]
    case = Case(name, neuron=spec, neurons=61, time_steps=31, batch=3)
    gains = calibrate(proved(case))
    assert prove(right, case, gains, sleep=lambda seconds: None).passed
    proof = prove(Attached(), case, gains, sleep=lambda seconds: None)
    (stage,) = proof.stages
    assert not proof.passed and stage.verdict.wrong_decisions == 0 and "tached where it should be" in proof.reason


# -- 3 to 6 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in READY if not name.startswith("fused") and name not in JAX])
def test_3_decay_is_the_factor_per_step_whatever_a_framework_calls_it(name):
    """β, 1 − 1/τ, exp(−1/τ) and exp(−(1 − β)) all go by these names. Told apart by another decay than the usual."""
    case = changed(name, neurons=61, time_steps=31, batch=3)
    case = Case(**{**vars(case), "neuron": NeuronSpec(case.neuron.reset, case.neuron.detach_reset, decay=0.875)})
    assert adapter_of(case.framework).refuses(case) is None
    proof = proof_of(case)
    assert proof.passed, proof.reason


@every_variant
def test_4_currents_arrive_as_they_are(name):
    """Sinabs, SpikingJelly and Norse scale their input by 1 − β unless told not to, or always; Rockpool's synapse decays it."""
    spikes = answers(name)[0]
    assert spikes[:, BELOW].tolist() == [0, 0, 0]
    assert spikes[0, ABOVE] == 1


@every_variant
def test_5_a_neuron_fires_once_a_step(name):
    """Sinabs and Rockpool fire ⌊v/θ⌋ times unless told otherwise."""
    assert answers(name)[0][0, THRICE] == 1


@every_variant
def test_6_a_spike_comes_in_the_step_of_its_current(name):
    """Spyx's LIF answers one step late."""
    spikes = answers(name)[0]
    assert spikes[:, ABOVE].tolist() == [1, 0, 0]
    assert spikes[:2, TWICE].tolist() == [0, 1]


# -- 7, 8 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TORCH)
def test_7_only_weights_and_biases_are_trained(name):
    """Time constants, thresholds and the like are parameters in Sinabs, Rockpool and SpikingJelly; their gradient takes time."""
    program = program_of(READY[name])
    trained = [p for p in program.layers.parameters() if p.requires_grad]
    assert {id(p) for p in trained} == {id(p) for p in program.parameters} and len(trained) == 2
    assert program.facts(program.inference(program.put_input(CURRENTS)))["warnings"] == []


@every_variant
def test_8_every_call_begins_at_rest(name):
    """Sinabs, SpikingJelly and Rockpool keep their state, and Sinabs the graph that made it, into the next call."""
    first, second = answers(name)
    assert np.array_equal(first, second)
    if name in JAX:  # whose functions are pure
        return
    program = program_of(READY[name])
    found = []
    for _ in range(2):
        result = program.forward(program.put_input(CURRENTS))
        done = program.backward(result, program.put_upstream(np.ones_like(CURRENTS), result))
        found.append(program.gradients(done).input)
        program.release()
    assert np.array_equal(*found)


# -- frameworks of their own ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["norse", "norse:lif-box-cell", "norse:lif"])
def test_9_the_slope_that_norse_ignores_is_the_one_it_computes(name):
    """Norse 1.1 ignores `alpha`, whose default is 100; a version that obeys it must get 1, and other slopes are refused."""
    program = program_of(READY[name])
    parameters = [vars(module).get("p") or vars(module).get("parameters_of_neuron") for module in program.layers.modules()]
    (alpha,) = {float(p.alpha) for p in parameters if hasattr(p, "alpha")}
    assert alpha == 1
    case = READY[name]
    steep = NeuronSpec(case.neuron.reset, case.neuron.detach_reset, slope=2)
    assert "ignores its slope" in adapter_of("norse").refuses(Case("norse", case.construction, neuron=steep))


def test_10_rockpool_is_there_with_its_zero_matrix_and_without():
    """`LIFTorch` multiplies by an N × N matrix of zeros at every step, recurrent or not."""
    shipped, without = (
        next(module.lif for module in program_of(READY[name]).layers.modules() if hasattr(module, "lif"))
        for name in ("rockpool:lif-torch", "rockpool:lif-torch-without-recurrence")
    )
    assert shipped.w_rec.shape == (4, 4) and not shipped.w_rec.any()
    assert not hasattr(without, "w_rec")


@pytest.mark.parametrize("name", [name for name in READY if name.startswith("spikingjelly")])
def test_12_who_computes_spikingjelly_s_neuron_is_on_record(name, monkeypatch):
    """Version 2 chooses among CUDA, Triton and torch by itself, and in short formats takes torch without a word."""
    program = program_of(READY[name])
    assert program.facts(program.inference(program.put_input(CURRENTS)))["backend"] in ("torch", "torch-reference")
    if name in ("spikingjelly", "spikingjelly:parametric"):
        functional = importlib.import_module("spikingjelly.activation_based.functional")
        monkeypatch.setattr(functional, "neuron_implementation", lambda kind, device, execution: {"implementation": "triton"})
        told = {p: adapter_of("spikingjelly").facts(changed(name, device="cuda", precision=p)) for p in ("fp32", "bf16")}
        assert told == {"fp32": {"backend": "triton"}, "bf16": {"backend": "torch-reference"}}


def test_12_a_provider_is_forced_or_the_case_ends(monkeypatch):
    """The package reads its variable once; a second wish in one process must not be taken for granted."""
    from spikingjelly._ops.lif import _selection

    providers = importlib.import_module("snnbench.adapters.spikingjelly_providers")
    monkeypatch.setenv("SJ_LIF_CUDA_IMPLEMENTATION", "auto")
    with pytest.raises(Exception, match="already bound SpikingJelly to its provider 'auto'"):
        providers.force("triton")
    monkeypatch.setattr(_selection, "_requested", "triton")
    providers.force("triton")
    assert os.environ["SJ_LIF_CUDA_IMPLEMENTATION"] == "triton"


def test_13_each_round_of_a_case_is_a_process_of_its_own(snnbench):
    """snnTorch keeps every neuron ever made in a list; JAX keeps memory: figures would drift over a session."""
    ended = snnbench.run(snnbench.config(["telling"], ["process.py:Telling"], measure="rounds = 3"))
    processes = {record["facts"]["backend"] for record in ended.records}
    assert len(ended.records) == len(processes) == 3, ended.stderr


# -- 14 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "scale"), [("norse", 16), ("norse:lif", 16), ("rockpool:lif-torch", 2**40), ("rockpool-jax", 2**44)]
)
def test_14_a_scale_folded_into_the_weights_is_taken_out_of_their_gradients(name, scale):
    """Exact where it is a power of two and the format can hold it."""
    case = changed(name, neurons=5, time_steps=3, batch=2)
    problem = generate(case, [1.0])
    program = adapter_of(case.framework).program(case)
    program.load(problem.weights, problem.biases)
    x = program.put_input(problem.input)
    result = program.forward(x)
    done = program.backward(result, program.put_upstream(problem.upstream, result))
    if name in JAX:
        loaded, gradient = np.array(program.parameters[0][0]), np.array(done.gradients[0][0][0])
    else:
        loaded, gradient = program.weights[0].detach().numpy(), program.weights[0].grad.numpy()
    assert np.array_equal(loaded, problem.weights[0] * np.float32(scale))
    assert np.array_equal(program.gradients(done).weights[0], gradient * np.float32(scale))
    if scale > 65504:
        half = changed(name, precision="fp16")
        assert "which fp16 cannot hold" in adapter_of(half.framework).refuses(half)


# -- 15 ---------------------------------------------------------------------------------------------------------


def test_15_jax_is_traced_once_and_waited_for(monkeypatch):
    """JAX returns before it has computed; and a function that is traced again at each call is timed tracing."""
    import jax

    traced, awaited = [], []
    right = adapter_of("jax")

    class Listening(type(right)):
        def neuron(self, spec, features):
            neuron = super().neuron(spec, features)
            return lambda currents: (traced.append(None), neuron(currents))[1]

    case = changed("jax", neurons=5, time_steps=3, batch=2)
    problem = generate(case, [1.0])
    program = Listening().program(case)
    program.load(problem.weights, problem.biases)
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
    monkeypatch.setattr(jax, "block_until_ready", lambda tree: awaited.extend(jax.tree_util.tree_leaves(tree)))
    for outcome in (result, done, stepped):
        awaited.clear()
        program.wait(outcome)
        leaves = jax.tree_util.tree_leaves((outcome.borders, outcome.residuals, outcome.gradients, outcome.updated))
        assert leaves and {id(leaf) for leaf in leaves} <= {id(leaf) for leaf in awaited}


# -- 16 ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else True, reason="needs two cores")
def test_16_a_worker_is_bound_to_the_cores_of_the_case(snnbench):
    """Thread variables do not bind XLA's threads; the kernel does."""
    ended = snnbench.run(snnbench.config(["cores"], ["process.py:Cores"]))
    assert ended.record("cores")["facts"]["backend"].startswith("1 of "), ended.stderr
    told = ended.record("cores")["environment"]["variables"]
    assert {told[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"1"}


# -- 17 ---------------------------------------------------------------------------------------------------------


def loaded(name):
    """A small program with its weights, its inputs and the upstream gradient."""
    case = changed(name, neurons=5, time_steps=3, batch=2)
    problem = generate(case, [1.0])
    program = adapter_of(name).program(case)
    program.load(problem.weights, problem.biases)
    inputs = [program.put_input(problem.input)]
    upstream = program.put_upstream(problem.upstream, program.forward(inputs[0]))
    return program, inputs, upstream


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_17_every_backward_is_of_a_graph_of_its_own_and_adds_to_nothing(name):
    """The known comparison repeats its backward on one graph, into gradients that grow."""
    program, inputs, upstream = loaded(name)
    backward = phases(program, inputs, upstream)["backward"]
    found = []
    for index in range(2):
        state = backward.prepare(index)
        found.append(program.gradients(backward.call(state)).weights[0])
    assert np.array_equal(*found) and found[0].any()
    if name == "torch":
        with pytest.raises(RuntimeError, match="second time"):
            program.backward(state, upstream)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_17_no_forward_is_timed_as_backward(name, monkeypatch):
    """The known comparison's backward of Spyx is a gradient of everything, and no forward is waited for."""
    program, inputs, upstream = loaded(name)
    called = []
    for method in ("forward", "wait", "backward", "step", "inference"):
        own = getattr(program, method)
        monkeypatch.setattr(program, method, lambda *given, own=own, method=method: (called.append(method), own(*given))[1])
    networks = []
    for layer in program.layers if name == "torch" else ():
        layer.register_forward_hook(lambda *given: networks.append("forward"))
    for phase in phases(program, inputs, upstream).values():
        state = phase.prepare(0)
        assert called == (["forward", "wait"] if phase.name == "backward" else [])
        called.clear()
        networks.clear()
        phase.call(state)
        assert called[0] == phase.name
        assert phase.name != "backward" or (called == ["backward"] and not networks)
        called.clear()


@every_variant
def test_17_every_framework_gets_the_same_weights_bias_and_input(name):
    """The known comparison has Spyx without a bias, and on an input of nothing but ones."""
    case = changed(name, neurons=7, time_steps=5, batch=3)
    problem = generate(case, [1.0])
    assert set(np.unique(problem.input)) == {0, 1} and problem.biases[0].any()
    program = adapter_of(case.framework).program(case)
    program.load([np.zeros((7, 7), np.float32)], [np.float32([2, -2, 2, -2, 2, -2, 2])])
    spikes = program.spikes(program.inference(program.put_input(problem.input)))[-1]
    assert spikes[0].tolist() == [[1, 0, 1, 0, 1, 0, 1]] * 3


@pytest.mark.parametrize("name", ["spyx", "norse", "spikingjelly"])
def test_17_a_sequence_scanned_over_its_batch_is_rejected(name):
    """The known comparison hands Spyx (T, B, N) and scans the second axis."""
    right = adapter_of(name)

    class Turned(type(right)):
        def neuron(self, spec, features):
            neuron = super().neuron(spec, features)
            if name == "spyx":
                return lambda currents: neuron(currents.swapaxes(0, 1)).swapaxes(0, 1)

            class Module(torch.nn.Module):
                def forward(self, currents):
                    return neuron(currents.transpose(0, 1)).transpose(0, 1)

            return Module()

    case = Case(name, neurons=61, time_steps=31, batch=3)
    proof = prove(Turned(), case, calibrate(proved(case)), sleep=lambda seconds: None)
    assert not proof.passed and "batch" in proof.reason


# -- 18 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("construction", ["default", "quantised"])
def test_18_a_threshold_that_lava_dl_would_cut_off_is_refused(construction):
    """It is cut off at a multiple of 1/scale without a word; so is a decay at one of 1/4096."""
    adapter = adapter_of("lava-dl")

    def refusal(**changes):
        return adapter.refuses(Case("lava-dl", construction, neuron=NeuronSpec("none", **changes)))

    assert refusal() is None and refusal(threshold=0.75) is None
    assert "threshold is here a multiple of 1/" in refusal(threshold=0.1)
    assert "decay is a multiple of 1/4096" in refusal(decay=0.9)


# -- 19 ---------------------------------------------------------------------------------------------------------


def test_19_a_surrogate_put_into_a_module_is_used_and_taken_out_again():
    """A name imported before the patch keeps the old function; a patch that stays leaks into what runs next."""
    module = importlib.import_module("rockpool.nn.modules.jax.lif_jax")
    before = module.step_pwl
    assert answers("rockpool-jax")[0].any()
    assert module.step_pwl is before
    neuron = adapter_of("rockpool-jax").neuron(NEURONS["soft"], (4,))
    with pytest.raises((TypeError, ValueError)):
        neuron(np.zeros((3, 1, 5), np.float32))
    assert module.step_pwl is before
