"""Training steps: those of frameworks are proved, wrong ones are rejected, with words that name
what is wrong with them."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.networks import WIDEST
from support.paths import WRONG
from support.proofs import proof_of, refusal_of
from support.slow import COVERED, one_of_each, without

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS
from snnbench.proof.training import loss_and_gradient

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
STEP = Case(
    "any",
    workload="mnist-mlp",
    neuron=WIDEST,
    layers=None,
    bias=None,
    neurons=31,
    image=9,
    classes=7,
    time_steps=6,
    batch=5,
    input="rate",
    loss="cross-entropy",
    optimizer="sgd",
)


TRAINED = [
    (framework, loss, optimizer)
    for framework in ("torch", "snntorch", "norse", "spikingjelly", "sinabs", "fused", "jax")
    for loss, optimizer in (("cross-entropy", "sgd"), ("spike-count", "adam"), (None, "sgd"))
]


@pytest.mark.parametrize(
    ("framework", "loss", "optimizer"),
    one_of_each(TRAINED, {"norse", "spikingjelly", "sinabs", "fused", "jax"}),
)
def test_frameworks_train_right(framework, loss, optimizer):
    case = replace(STEP, framework=framework, loss=loss, optimizer=optimizer)
    proof = proof_of(registry.load(registry.FRAMEWORKS[framework]), case)
    assert proof.passed, proof.reason
    assert "fp32, training" in " ".join(stage.name for stage in proof.stages)


@pytest.mark.parametrize("framework", without({"jax"}, ["torch", "jax"]))
def test_a_loss_of_the_membrane(framework):
    case = replace(STEP, framework=framework, loss="membrane", optimizer="adam")
    proof = proof_of(registry.load(registry.FRAMEWORKS[framework]), case)
    assert proof.passed, proof.reason


WRONG_STEPS = [
    (fault, optimizer, words)
    for optimizer, faults in TABLE["steps"].items()
    for fault, words in faults.items()
]


@pytest.mark.parametrize(("fault", "optimizer", "words"), one_of_each(WRONG_STEPS, COVERED))
def test_a_wrong_step_is_named(fault, optimizer, words):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, replace(STEP, framework=adapter.name, optimizer=optimizer))
    assert not proof.passed
    assert words in proof.reason


@pytest.mark.parametrize("right", TABLE["right_steps"])
def test_a_right_step_in_disguise_passes(right):
    adapter = registry.load(f"{WRONG / right}")
    proof = proof_of(adapter, replace(STEP, framework=adapter.name))
    assert proof.passed, proof.reason


REFUSED = [
    (
        {"loss": "membrane", "workload": "linear-lif", "layers": 1, "bias": True},
        "does not hand them out",
    ),
    (
        {"loss": "spike-count", "workload": "cifar-small", "width": 8, "norm": True},
        "does not end with them",
    ),
    ({"loss": "cross-entropy", "workload": "conv-lif", "width": 8}, "a loss is of classes (K,)"),
    ({"loss": None, "workload": "lif"}, "sgd moves parameters, and this network has none"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_a_network_cannot_have_is_refused(changes, words):
    assert words in refusal_of(
        registry.load(registry.FRAMEWORKS["torch"]), replace(STEP, framework="torch", **changes)
    )


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(2, 6),
    st.sampled_from(["cross-entropy", "spike-count"]),
)
def test_the_gradient_of_a_loss_is_its_difference(steps, items, count, loss):
    random = np.random.default_rng(steps + 10 * items + 100 * count)
    output, labels = random.standard_normal((steps, items, count)), random.integers(0, count, items)
    direction = random.standard_normal(output.shape)
    ahead, behind = (
        loss_and_gradient(loss, output + h * direction, labels)[0] for h in (1e-5, -1e-5)
    )
    assert (ahead - behind) / 2e-5 == pytest.approx(
        np.vdot(loss_and_gradient(loss, output, labels)[1], direction), abs=1e-8
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    without(
        COVERED,
        [
            (
                "timed.py:NoUpdate",
                "step 1 of 2: the weight of linear1 is off by 1.0e+00 of its way",
            ),
            ("timed.py:HalfAnUpdate", "step 1 of 2: the weight of linear1 is off by"),
            ("timed.py:WeightsPackedOnce", "step 2 of 2: "),
            ("later.py:GradientsNotCleared", "step 2 of 2: "),
            ("later.py:WeightDecay", "step 1 of 2: the weight of linear1 is off by"),
            ("later.py:BackwardOfHalfTheBatch", "step 1 of 2: the weight of linear1 is off by"),
            ("inference.py:InferenceInBf16", "inference: "),
        ],
    ),
)
def test_plain_steps_and_inference_are_proved_too(fault, words):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neurons=64, time_steps=20, batch=3))
    assert not proof.passed
    assert words in proof.reason


@pytest.mark.parametrize("slope", without({25.0}, [25.0, 100.0]))
def test_steps_behind_steep_surrogates_are_right(slope):
    """Those of tutorials: where a potential is rounded, their derivative changes more."""
    case = Case("torch", neuron=replace(NEURONS["soft"], slope=slope), neurons=97, time_steps=37)
    proof = proof_of(registry.load(registry.BUILT_IN["torch"]), replace(case, batch=3))
    assert proof.passed, proof.reason
