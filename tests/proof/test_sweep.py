"""Plain loops of torch and JAX over all surrogates, slopes, resets, decays, kinds of neurons, small
outputs and numbers of steps: each case is proved, or refused before the proof with a reason. Wrong
ones in the same settings are rejected wherever a setting is judged."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.networks import network_of
from support.proofs import judged, proof_of, refusal_of
from support.slow import representatives

from snnbench.adapters import registry
from snnbench.adapters.base.time_loop import Uncut
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.case import Case
from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec
from snnbench.proof import rare, stages
from snnbench.proof.free_run import free_run

LOOPS = {name: registry.load(registry.FRAMEWORKS[name]) for name in ("torch", "jax")}
COUNT, QUICK = 200, (2, 200)
AXES = {
    "framework": ("torch", "torch", "torch", "jax"),
    "surrogate": SURROGATES,
    "slope": (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0),
    "reset": RESETS,
    "detach": (False, True),
    "decay": (0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0),
    "outputs": (1, 1, 2, 2, 3, 5, 16, 31, 97),
    "steps": (1, 2, 20, 500),
    "kind": ("plain", "plain", "synaptic", "learning", "adaptive"),
    "precision": ("fp32", "fp32", "fp32", "bf16", "fp16"),
    "workload": ("linear-lif", "mlp", "lif"),
    "seed": range(5),
}
KINDS = {
    "plain": {},
    "synaptic": {"current_decay": 0.8},
    "learning": {"learned_decay": "sigmoid"},
    "adaptive": {"adaptation": 0.2, "adaptation_decay": 0.9},
}
SIZES = {"mlp": {"inputs": 61, "neurons": 31, "layers": 2}, "lif": {"bias": False}}


def cases():
    """COUNT cases, with every value of each axis equally often."""
    random = np.random.default_rng(0)
    columns = {
        name: [values[i] for i in random.permutation(np.resize(np.arange(len(values)), COUNT))]
        for name, values in AXES.items()
    }
    for index in range(COUNT):
        yield case_of(**{name: values[index] for name, values in columns.items()})


def case_of(
    *, framework, surrogate, slope, reset, detach, decay, outputs, steps, kind, workload, **others
):
    if kind == "learning":
        decay, reset = min(decay, 0.99), "soft" if reset == "soft-undecayed" else reset
    if kind == "adaptive" and reset == "hard-straight":
        reset = "hard"
    spec = NeuronSpec(
        reset,
        detach and reset != "none",
        decay,
        surrogate=surrogate,
        slope=slope,
        **KINDS[kind],
    )
    sizes = {"neurons": outputs, "time_steps": steps, "batch": 3, **SIZES.get(workload, {})}
    sizes |= {"outputs": outputs} if workload == "mlp" else {}
    return Case(framework, workload=workload, neuron=spec, **sizes, **others)


FOUND = [
    # The gradient of a learned decay, one number, was 4.3 times as far off as the rounded runs.
    Case(
        "torch",
        workload="lif",
        neuron=NeuronSpec("soft", decay=0.99, surrogate="atan", slope=5.0, learned_decay="sigmoid"),
        **{"neurons": 1, "time_steps": 20, "batch": 3, "bias": False, "seed": 2},
    ),
]


def name_of(case):
    sizes = f"N{case.outputs or case.neurons} T{case.time_steps}"
    return f"{case.framework} {case.workload} {case.precision} {sizes} {case.neuron.text}"


CASES = representatives([*cases(), *FOUND], QUICK)


@pytest.fixture(autouse=True)
def without_names(monkeypatch):
    """One thread, and no names of faults, which take most of the time."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    for module in (stages, rare):
        monkeypatch.setattr(module, "name_fault", lambda *arguments: None)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def is_judged(case):
    reason = free_run(case, network_of(case)).unsuitable
    assert reason is None or ("unsuitable problem: " in reason and len(reason) > 40)
    return reason is None


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_plain_loop_is_proved_or_refused_before_the_proof(case):
    if refusal_of(LOOPS[case.framework], case):
        case = replace(case, framework="torch")
    if is_judged(case):
        proof = proof_of(LOOPS[case.framework], case)
        assert proof.passed, proof.reason


class Less(torch.autograd.Function):
    @staticmethod
    def forward(ctx, given):
        return given.view_as(given)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0.85


class SmallGradient(TorchLoop):
    """Gives gradients that are 15 % too small."""

    def neuron(self, spec, features):
        return Uncut(super().neuron(spec, features), lambda right, x: Less.apply(right(x)))


class SlowDecay(TorchLoop):
    """Decays half as fast: by 0.95 for 0.9."""

    def neuron(self, spec, features):
        decay = 0.95 if spec.decay == 1 else (1 + spec.decay) / 2
        return super().neuron(replace(spec, decay=decay), features)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_wrong_ones_are_rejected_wherever_a_setting_is_judged(case):
    case = replace(case, framework="torch")
    if not is_judged(case):
        return
    assert not proof_of(SmallGradient(), case).passed
    if case.spec.learned_decay is None:
        assert not proof_of(SlowDecay(), case).passed
    _, _, verdict = judged(SmallGradient(), case)
    assert not verdict.passed or verdict.grad_error == 0  # zero: all outside a narrow window
