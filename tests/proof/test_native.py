"""Native neurons: what a framework's own tutorial gives, shown to have the right time axis, never ranked."""

import functools
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.paths import FAULTY

from snnbench.adapters import registry
from snnbench.adapters.base.case import NATIVE, Case
from snnbench.adapters.base.contract import Unsupported
from snnbench.kernels.spec import NEURONS
from snnbench.proof.problem import calibrate, problem_id, proved
from snnbench.proof.stages import prove
from snnbench.proof.time_axis import time_axis
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.table import Table
from snnbench.report.tables.markdown import markdown_text

FAULTS = {
    "CarriedOver": "state leaks between calls",
    "CarriedALittle": "another gradient of the weight when repeated: state leaks between calls",
    "GraphKept": "backward fails: RuntimeError: Trying to backward through the graph a second time",
    "FirstAnswerAgain": "does not react to its input",
    "LooksAhead": "looks ahead: a later input changes earlier spikes",
    "LooksAheadALittle": "looks ahead: earlier spikes have a gradient by later input",
    "ItemsMix": "batch items influence each other",
    "ItemsMixALittle": "batch items influence each other: spikes of one have a gradient by the input of others",
    "BatchScanned": "is the batch axis scanned as time?",
    "Pointwise": "has no memory",
    "Potentials": "are not whole numbers",
    "NoGradient": "backward fails: RuntimeError",
    "ZeroGradient": "the gradient of the weight is zero",
}
NATIVES = ("snntorch", "norse", "sinabs", "rockpool", "spikingjelly", "spyx")
NATIVES_ELSEWHERE = ("lava-dl", "spikingjelly-cupy", "sinabs-exodus")
"""In environments of their own: tests/end_to_end/test_homes.py runs what can be run of them."""
STAGES = ["small problem, {}, time axis", "small problem, {}, gradients", "own size, {}"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """As in a worker: no samna; and one thread, for these problems are too small for more."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


def case_of(name, **changes):
    return Case(name, **{"neuron": NATIVE, "time_steps": 31, "batch": 5, "neurons": 61, **changes})


@functools.cache
def gains_of(case):
    return calibrate(proved(case))


def proof_of(reference, **changes):
    adapter = registry.load(reference)
    case = case_of(adapter.name, **changes)
    assert adapter.refuses(case) is None
    return prove(adapter, case, gains_of(replace(case, framework="any")))


def planted(name, **changes):
    return proof_of(f"{FAULTY / 'natives.py'}:{name}", **changes)


# -- the proof -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_native_is_rejected_and_its_fault_named(fault):
    proof = planted(fault)
    assert not proof.passed
    assert FAULTS[fault] in proof.reason, proof.reason


@pytest.mark.parametrize(
    "changes", [{}, {"layers": 2}, {"workload": "lif", "bias": False}, {"input_grad": False}, {"time_steps": 1}]
)
def test_a_right_native_passes_every_stage_without_an_oracle(changes):
    proof = planted("Right", **changes)
    assert proof.passed, proof.reason
    assert [stage.name for stage in proof.stages] == [name.format("fp32") for name in STAGES]
    assert all(stage.verdict.firing_rate >= 0.02 for stage in proof.stages)
    assert [stage.verdict.wrong_decisions for stage in proof.stages[1:]] == [None, None]
    assert not any(stage.verdict.errors for stage in proof.stages)


def test_one_that_never_fires_shows_nothing():
    with pytest.raises(Unsupported, match=r"unsuitable problem: fires at 0\.0% even on 256 times the input"):
        planted("Silent")


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp-bf16"])
def test_what_rounding_hides_from_spikes_gradients_show(precision):
    assert planted("Right", precision=precision).passed
    assert "looks ahead: earlier spikes have a gradient" in planted("LooksAheadALittle", precision=precision).reason


class Unsteady:
    """A program whose every call changes some of its spikes, as sums in no fixed order do."""

    def __init__(self, program, changed):
        self.program, self.changed, self.calls = program, changed, 0

    def __getattr__(self, name):
        return getattr(self.program, name)

    def spikes(self, result):
        borders = self.program.spikes(result)
        here = slice(self.calls * self.changed, (self.calls + 1) * self.changed)
        self.calls += 1
        flat = borders[-1].reshape(-1)
        flat[here] = 1 - flat[here]
        return borders


@pytest.mark.parametrize(("changed", "passed"), [(2, True), (60, False)])
def test_a_thousandth_may_differ_only_where_a_repeated_call_does(changed, passed):
    from snnbench.proof.native import excited
    from snnbench.proof.problem import generate, small
    from snnbench.proof.stages import UNSTEADY

    adapter = registry.load(f"{FAULTY / 'natives.py'}:Right")
    case = small(case_of(adapter.name))
    problem = generate(case, gains_of(replace(case, framework="any")))
    program = adapter.program(case)
    program.load(problem.weights, problem.biases)
    problem, _ = excited(program, problem)
    assert time_axis(program, problem).passed
    assert time_axis(Unsteady(program, changed), problem, UNSTEADY).passed == passed
    assert not time_axis(Unsteady(program, changed), problem).passed, "where there is an oracle every bit counts"


def test_weights_are_those_of_soft():
    assert problem_id(case_of("any")) == problem_id(case_of("any", neuron=NEURONS["soft"]))
    assert problem_id(case_of("any")) != problem_id(case_of("any", neuron=NEURONS["hard"]))


# -- the frameworks --------------------------------------------------------------------------------------------


@pytest.mark.frameworks
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "amp-bf16"])
@pytest.mark.parametrize("name", NATIVES)
def test_a_framework_s_tutorial_neuron_has_the_right_time_axis(name, precision):
    adapter = registry.load(registry.BUILT_IN[name])
    if (name, precision) == ("spyx", "amp-bf16"):
        assert "JAX has no autocast" in adapter.refuses(case_of(name, precision=precision))
        return
    if name == "rockpool" and precision in ("bf16", "fp16"):
        with pytest.raises(Unsupported, match="LIFTorch makes its spikes float32"):
            proof_of(registry.BUILT_IN[name], precision=precision)
        return
    proof = proof_of(registry.BUILT_IN[name], precision=precision)
    assert proof.passed, proof.reason
    assert [stage.name for stage in proof.stages] == [name.format(precision) for name in STAGES]


@pytest.mark.frameworks
@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_who_has_a_native_neuron_says_what_it_is_and_where_it_is_from(name):
    adapter = registry.load(registry.BUILT_IN[name])
    if name not in (*NATIVES, *NATIVES_ELSEWHERE):
        assert adapter.refuses(case_of(name, device=adapter.devices[-1])) == f"{name} has no native neuron"
        assert adapter.native_description is None
        return
    assert adapter.refuses(case_of(name, device=adapter.devices[-1])) is None
    assert ": " in adapter.native_description and len(adapter.native_description) < 130
    assert "Source: " in adapter.native.__doc__
    for construction in adapter.constructions[1:]:
        assert "behind one Linear" in adapter.refuses(case_of(name, device=adapter.devices[-1], construction=construction))


def stepped(spike, step, state=(0.0, 0.0)):
    """Spikes (T, B, N) of currents: `step(v, i, x)` gives potential and synapse, `spike(v)` spikes and what is left of v."""

    def run(currents):
        v, i = (np.full(currents.shape[1:], value) for value in state)
        spikes = np.empty(currents.shape)
        for t, x in enumerate(currents):
            v, i = step(v, i, x)
            spikes[t], v = spike(v)
        return spikes

    return run


def snntorch_steps(currents):
    """θ is taken off at the next step, and is not decayed."""
    v, spikes = np.zeros(currents.shape[1:]), np.empty(currents.shape)
    for t, x in enumerate(currents):
        v = 0.95 * v + x - (v > 1)
        spikes[t] = v > 1
    return spikes


def spyx_steps(currents):
    """β is the framework's own draw; a spike is of the potential before the step."""
    import spyx
    from flax import nnx

    beta = np.clip(np.array(spyx.nn.LIF((61,), rngs=nnx.Rngs(0)).beta[...], np.float64), 0, 1)
    v, spikes = np.zeros(currents.shape[1:]), np.empty(currents.shape)
    for t, x in enumerate(currents):
        spikes[t] = v > 1
        v = beta * v + x - spikes[t]
    return spikes


def zeroed(v):
    return v > 1, v * (v <= 1)


def counted(v):
    count = np.clip(np.floor(v), 0, None)
    return count, v - count


SAID = {
    "snntorch": snntorch_steps,
    "norse": stepped(zeroed, lambda v, i, x: (0.9 * v + 0.1 * (i + x), 0.8 * (i + x))),
    "sinabs": stepped(counted, lambda v, i, x: (np.exp(-1 / 40) * v + x, i)),
    "rockpool": stepped(counted, lambda v, i, x: (np.exp(-1 / 20) * (v + i + x), np.exp(-1 / 20) * (i + x))),
    "spikingjelly": stepped(zeroed, lambda v, i, x: (v + (x - v) / 2, i)),
    "spyx": spyx_steps,
}
SLOPES = {
    "snntorch": lambda x: 1 / (1 + (np.pi * (x - 1)) ** 2),
    "norse": lambda x: 0.1 / (1 + abs(0.1 * x - 1)) ** 2,
    "sinabs": lambda x: np.exp(-abs(x - 1) / 0.5) / 0.5,
    "rockpool": lambda x: np.exp(-1 / 20) * (np.exp(-1 / 20) * x >= 0.5),
    "spikingjelly": lambda x: 0.5 / (1 + (np.pi * (x / 2 - 1)) ** 2),
    "spyx": lambda x: np.maximum(0, 1 - 2 * abs(x - 1)),
}
"""∂(first spike)/∂(first current)."""


def alone(name, time_steps):
    adapter = registry.load(registry.BUILT_IN[name])
    case = case_of(name, workload="lif", bias=False, time_steps=time_steps)
    adapter.prepare(case, 1)
    program = adapter.program(case)
    program.load([], [])
    return program


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_fires_as_its_description_says(name):
    currents = (
        np.random.default_rng(7).normal(0.1, 2.0 if name in ("norse", "spikingjelly") else 0.7, (31, 5, 61)).astype(np.float32)
    )
    program = alone(name, 31)
    spikes = program.spikes(program.inference(program.put_input(currents)))[-1]
    assert spikes.mean() > 0.02
    assert np.mean(spikes != SAID[name](currents.astype(np.float64))) < 2e-4, "a rounding flip or two"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_s_surrogate_is_the_one_it_says(name):
    late = name == "spyx"
    program = alone(name, 1 + late)
    currents = np.zeros((1 + late, 5, 61), np.float32)
    currents[0] = np.linspace(0.05, 1.95, 305).reshape(5, 61)
    result = program.forward(program.put_input(currents))
    upstream = np.zeros_like(currents)
    upstream[-1] = 1
    gradient = program.gradients(program.backward(result, program.put_upstream(upstream, result))).input[0]
    np.testing.assert_allclose(gradient, SLOPES[name](currents[0].astype(np.float64)), rtol=1e-4, atol=1e-6)


# -- the command line and the reports --------------------------------------------------------------------------


def test_a_run_measures_natives_and_ranks_none(snnbench):
    config = snnbench.config(["right-native", "torch"], ["natives.py:Right"], measure="rounds = 2")
    ended = snnbench.run(config, "--set", "grid.neuron=native")
    assert ended.exit_code == 0, ended.stderr
    row, other = (next(row for row in ended.rows if row["framework"] == name) for name in ("right-native", "torch"))
    assert (row["neuron"], row["status"], row["rounds"], row["rank"], row["ratio"]) == ("native", "ok", "2", "", "")
    assert row["native"] == "Loop(decay=0.8): soft, with gradient, surrogate atan(2)"
    assert (row["output_dtype"], row["state_dtype"]) == ("float32", "float32")
    assert 0.02 <= float(row["firing_rate"]) <= 1 and float(row["input_scale"]) == 1
    assert (row["proved"], row["grad_error"], row["wrong_decisions"], row["spike_mismatch"]) == ("true", "", "", "")
    assert {key: value for key, value in row.items() if key.startswith("neuron_")} == dict.fromkeys(
        (f"neuron_{name}" for name in NEURONS["soft"].as_dict()), ""
    )
    assert all(float(row[f"{phase}_s"]) > 0 for phase in ("forward", "backward", "step", "inference"))
    assert int(row["peak_memory_bytes"]) > 0
    assert (other["status"], other["reason"]) == ("unsupported", "torch has no native neuron")
    assert "firing rate" in ended.stdout and "× best" not in ended.stdout
    assert "Loop(decay=0.8)" in ended.stdout
    assert "Loop(decay=0.8)" in (ended.folder / "report.html").read_text(encoding="utf-8")
    again = snnbench.run(config, "--set", "grid.neuron=native")
    assert again.records == ended.records, "nothing is measured twice"


def test_a_wrong_native_ends_a_run_with_4_and_is_named(snnbench):
    config = snnbench.config(["carried-over", "silent-native"], ["natives.py:CarriedOver", "natives.py:Silent"])
    ended = snnbench.run(config, "--set", "grid.neuron=native")
    assert ended.exit_code == 4
    wrong, silent = ended.record("carried-over"), ended.record("silent-native")
    assert wrong["status"] == "check_failed"
    assert "state leaks between calls" in wrong["reason"]
    assert (silent["status"], silent["parts"]["excitation"]["status"]) == ("unsupported", "unsupported")
    assert "256 times the input" in silent["reason"]


def test_natives_stand_in_a_table_of_their_own_beside_ranked_ones(snnbench):
    config = snnbench.config(["right-native", "torch"], ["natives.py:Right"])
    ended = snnbench.run(config, "--set", 'grid.neuron=["native", "soft"]')
    rows = rows_of([Record.model_validate(record) for record in ended.records])
    assert {(row.case.framework, row.case.neuron.label()): row.rank for row in rows if row.status == "ok"} == {
        ("right-native", "native"): None,
        ("torch", "soft"): 1,
    }
    native, ranked = markdown_text(Table(rows)).split("**neuron soft")
    assert "not ranked" in native and "firing rate" in native and "× best" not in native
    assert "× best" in ranked and "firing rate" not in ranked


def test_check_says_what_it_showed(snnbench):
    given = ["--neurons", 31, "--time-steps", 41, "--batch", 3, "--neuron", "native"]
    ended = snnbench("check", "--adapter", FAULTY / "natives.py:Right", *given)
    assert ended.exit_code == 0, ended.stderr
    assert "right time axis" in ended.stdout and "same network" not in ended.stdout
    ended = snnbench("check", "--adapter", FAULTY / "natives.py:Pointwise", *given)
    assert ended.exit_code == 4
    assert "has no memory" in ended.stdout
