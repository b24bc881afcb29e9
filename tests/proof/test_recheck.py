"""What is timed is judged: spikes and gradients of every phase, on values that no adapter could
foresee."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from support.expected import adapter_of
from support.networks import network_of
from support.paths import WRONG
from support.proofs import loaded, problem_of, wait_for_writers
from support.slow import COVERED, representatives, without

from snnbench.adapters import registry
from snnbench.core.case import NATIVE, PHASES, Case
from snnbench.kernels.spec import NEURONS
from snnbench.measure.phases import Phases, draw_of
from snnbench.measure.slots import Sampler
from snnbench.proof import oracle
from snnbench.proof.judge import JudgedCall
from snnbench.proof.limits import limits_of
from snnbench.proof.recheck import Timed, judge_inference, recheck, unlike_unweighed
from snnbench.proof.stages import with_statistics
from snnbench.worker.serving import answer_of

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
TIMED = [
    (fault, words, layers)
    for layers, key in ((1, "timed"), (2, "timed_stacks"))
    for fault, words in TABLE[key].items()
]
ODD = {"neurons": 97, "time_steps": 37, "batch": 3}


def rechecked(adapter, case, name, calls=41):
    """How the recheck of a phase ends after so many calls."""
    program, problem = loaded(adapter, case)
    problem = with_statistics(problem)
    result = program.forward(program.put_input(problem.input))
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    upstream = program.put_upstream(problem.upstream, result)
    phases = Phases(program, inputs, upstream, 5, problem.statistics)
    sampler, left = Sampler(phases.by_name[name], program), iter(range(1, calls))
    taken = []
    sampler.slot(
        lambda: next(left, None) is None,
        lambda result: taken.append(answer_of(program, result, name, phases)),
    )
    draw = draw_of(5, sampler.last, name)
    last = Timed(name, case.precision, draw, sampler.result, *taken)
    return recheck(
        program, problem, phases, last, limits_of(case, network_of(case)), wait_for_writers
    ).get("reason", "")


@pytest.mark.parametrize("layers", without({1}, [1, 3]))
@pytest.mark.parametrize("name", PHASES)
def test_a_call_like_the_weighed_one_is_right_whatever_hidden_spikes_a_phase_hands_out(
    name, layers
):
    case, adapter = Case("torch", layers=layers, **ODD), adapter_of("torch")
    program, problem = loaded(adapter, case)
    problem = with_statistics(problem)
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    upstream = program.put_upstream(problem.upstream, program.forward(inputs[0]))
    phases = Phases(program, inputs, upstream, 5, problem.statistics)

    def answer(holds_borders):
        program.holds_borders = holds_borders
        result = phases.by_name[name].call(phases.by_name[name].prepare(3))
        return answer_of(program, result, name, phases)

    weighed = Timed(name, case.precision, draw_of(5, 3, name), None, answer(False))
    limits = limits_of(case, network_of(case))
    assert unlike_unweighed(problem, weighed, answer(True), limits) == []
    weighed.answer.spikes[problem.last][0] = 1
    (finding, *_) = unlike_unweighed(problem, weighed, answer(True), limits)
    assert finding.endswith("of the spikes differ from those of an untimed call")


@pytest.mark.parametrize(
    ("fault", "said", "layers"), without(COVERED, TIMED), ids=[fault for fault, *_ in TIMED]
)
def test_what_is_wrong_in_timed_calls_alone_is_named(fault, said, layers):
    adapter = registry.load(f"{WRONG / fault}")
    phase, words = said.split(": ", 1)
    try:
        reason = rechecked(adapter, Case(adapter.name, layers=layers, **ODD), phase)
    except TypeError as error:
        reason = str(error)
    assert words in reason


@pytest.mark.parametrize("fault", TABLE["timed_networks"])
def test_running_statistics_of_timed_calls_are_judged(fault):
    adapter = registry.load(f"{WRONG / fault}")
    phase, words = TABLE["timed_networks"][fault].split(": ")
    sizes = {"workload": "contract", "time_steps": 5, "batch": 3}
    assert words in rechecked(adapter, Case(adapter.name, **sizes), phase, calls=3)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("fault", TABLE["timed_steps"])
def test_updates_of_timed_steps_are_judged(fault, optimizer):
    adapter = registry.load(f"{WRONG / fault}")
    sizes = {"neurons": 31, "inputs": 61, "outputs": 7, "layers": 3, "time_steps": 5, "batch": 3}
    case = Case(adapter.name, workload="mlp", loss="cross-entropy", optimizer=optimizer, **sizes)
    assert TABLE["timed_steps"][fault] + optimizer in rechecked(adapter, case, "step", calls=12)
    assert rechecked(adapter_of("torch"), case, "step", calls=12) == ""


@pytest.mark.parametrize("framework", without({"jax"}, ["torch", "jax", "fused"]))
@pytest.mark.parametrize(
    ("phase", "precision"),
    representatives([("forward", "fp32"), ("inference", "fp32"), ("inference", "bf16")], [0, 2]),
)
def test_right_calls_pass_with_running_statistics(framework, phase, precision):
    case = Case(framework, workload="contract", precision=precision, time_steps=5, batch=3)
    assert rechecked(adapter_of(framework), case, phase, calls=3) == ""


@pytest.mark.parametrize("fault", TABLE["foreseeing"])
def test_a_program_that_is_right_where_slots_end_is_caught_by_one_that_ends_earlier(fault):
    adapter = registry.load(f"{WRONG / fault}")
    phase, words = TABLE["foreseeing"][fault].split(": ")
    ends = {
        calls: rechecked(adapter, Case(adapter.name, **ODD), phase, calls)
        for calls in (1, 3, 4, 5, 9)
    }
    assert [words in reason for reason in ends.values()] == [True, True, True, False, False]


@pytest.mark.parametrize("fault", TABLE["timed_natives"])
def test_of_native_neurons_too(fault):
    adapter = registry.load(f"{WRONG / fault}")
    phase, words = TABLE["timed_natives"][fault].split(": ", 1)
    assert words in rechecked(adapter, Case(adapter.name, neuron=NATIVE, **ODD), phase)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("layers", without({1}, [1, 2]))
@pytest.mark.parametrize("precision", representatives(["fp32", "bf16"], [1]))
def test_right_native_neurons_pass(precision, layers, phase):
    case = Case("snntorch", neuron=NATIVE, precision=precision, layers=layers, **ODD)
    assert rechecked(adapter_of("snntorch"), case, phase, calls=2) == ""


@pytest.mark.parametrize(
    "right",
    without(
        COVERED,
        [right for right in TABLE["right"] if right.startswith(("disguises", "unfinished"))],
    ),
)
def test_right_calls_in_disguise_pass_when_they_are_timed(right):
    for phase in ("inference", "step"):
        adapter = registry.load(f"{WRONG / right}")
        assert rechecked(adapter, Case(adapter.name, layers=2, **ODD), phase, calls=2) == ""


@pytest.mark.parametrize(
    "framework",
    without(
        {"rockpool-jax", "snntorch", "spikingjelly", "spyx"},
        ["norse", "rockpool-jax", "snntorch", "sinabs", "spikingjelly", "spyx"],
    ),
)
@pytest.mark.parametrize("precision", representatives(["fp32", "bf16"], [1]))
def test_right_steps_pass_however_parameters_are_scaled(framework, precision):
    case, adapter = Case(framework, precision=precision, layers=2, **ODD), adapter_of(framework)
    if not adapter.refuses(case, network_of(case)):
        assert rechecked(adapter, case, "step", calls=2) == ""


@pytest.mark.parametrize("framework", without({"jax"}, ["torch", "jax"]))
@pytest.mark.parametrize("precision", representatives(["fp32", "bf16"], [1]))
def test_right_steps_of_a_network_pass_although_updates_are_rounded(framework, precision):
    """A norm's weight is near 1 and its gradient small: the last bit of the weight is more than
    the limit of the gradient."""
    case, adapter = (
        Case(framework, workload="contract", precision=precision, time_steps=5, batch=3),
        adapter_of(framework),
    )
    assert rechecked(adapter, case, "step", calls=2) == ""


RIGHT = [(framework, phase) for framework in ("torch", "jax", "fused") for phase in PHASES]


@pytest.mark.parametrize(
    ("framework", "phase"),
    representatives(
        RIGHT,
        {
            i
            for i, case in enumerate(RIGHT)
            if case[0] == "torch" or case in (("fused", "step"), ("jax", "forward"))
        },
    ),
)
@pytest.mark.parametrize("neuron", representatives(["soft", "hard-straight"], [0]))
def test_right_calls_pass(framework, neuron, phase):
    for more in (
        {},
        {"bias": False, "input_grad": False},
        {"precision": "bf16"},
        {"layers": 3},
        {"workload": "lif"},
    ):
        case = Case(framework, neuron=NEURONS[neuron], **ODD, **more)
        adapter = adapter_of(framework)
        if not adapter.refuses(case, network_of(case)):
            assert rechecked(adapter, case, phase, calls=2) == "", more


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_last_spikes_may_follow_from_hidden_decisions_that_rounding_turns_and_from_nothing_else(
    precision,
):
    """Decisions of the first layer within 1e-4 of the threshold go the other way; then 1 % of
    the last spikes, anywhere."""
    case = Case("any", precision=precision, layers=3, neurons=97, time_steps=101, batch=5)
    problem = problem_of(case)
    network, limits = problem.network, limits_of(case, problem.network)

    def call(**how):
        spikes = oracle.forward(network, problem.parameters, problem.input, **how).spikes
        return JudgedCall(
            problem.input, {name: array.astype(np.float32) for name, array in spikes.items()}
        )

    forward = call()
    near = {"neuron1": 1e-4, "neuron2": 0.0, "neuron3": 0.0}
    wider = {
        name: replace(limit, distance=max(limit.distance, 4 * near["neuron1"]))
        for name, limit in limits.items()
    }

    def judged(last):
        given = JudgedCall(problem.input, {**forward.spikes, problem.last: last})
        return judge_inference(problem, given, forward, wider)

    last = call(contrary=near).spikes[problem.last]
    assert 0 < (last != forward.spikes[problem.last]).mean() < 0.02
    assert judged(last) == []
    scattered = np.random.default_rng(5).random(last.shape) < 0.01
    (finding,) = judged(
        np.where(scattered, 1 - forward.spikes[problem.last], forward.spikes[problem.last])
    )
    assert "of the decisions in neuron3, behind linear3, are wrong" in finding
