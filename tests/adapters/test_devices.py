"""What devices of JAX compute together equals what one computes alone, in float64 to rounding."""

from math import ceil

import pytest
from support.devices import apart

from snnbench.adapters.registry import FRAMEWORKS, load
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.workloads import workload_of

SIZES = {"neurons": 31, "layers": 3, "time_steps": 37, "batch": 5}
NETWORK = {
    "workload": "cifar-small",
    "width": 3,
    "image": 12,
    "classes": 7,
    "time_steps": 7,
    "batch": 6,
}
NETWORK |= {
    "layers": None,
    "neurons": None,
    "bias": None,
    "loss": "cross-entropy",
    "optimizer": "sgd",
}


NORMS = pytest.param({**NETWORK, "norm": True}, 2e-5, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "limit"), [(SIZES, 1e-12), NORMS], ids=["layers", "norms"])
def test_parts_of_the_batch(sizes, limit):
    (errors,) = apart(Case("jax", parallel="data", **sizes), [4], limit < 1e-6).values()
    errors.pop("kept")
    assert max(errors.values()) <= limit, errors


NEURONS = {
    "soft": NeuronSpec(),
    "hard": NeuronSpec("hard"),
    "hard-detached": NeuronSpec("hard", detach_reset=True, decay=0.5),
    "none": NeuronSpec("none"),
    "synapse": NeuronSpec(current_decay=0.5),
    "adaptive": NeuronSpec(adaptation=0.2, adaptation_decay=0.9),
}
RECURRENT = {"workload": "recurrent", "time_steps": 37, "batch": 3}
CASES = {
    **{name: {**SIZES, "neuron": spec} for name, spec in NEURONS.items()},
    "even": {**SIZES, "time_steps": 48},
    "one-layer": {**SIZES, "layers": 1, "input_grad": False},
    "recurrent": RECURRENT,
    "convolutions": {**NETWORK, "norm": False, "loss": None, "optimizer": None},
    "learned": {**NETWORK, "norm": False, "neuron": NeuronSpec(learned_decay="sigmoid")},
}
OFTEN = ("hard-detached",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_parts_of_the_time_steps(name):
    case = Case("jax", parallel="time", **CASES[name])
    for count, errors in apart(case, [2, 3, 4] if name == "soft" else [3], True).items():
        assert errors.pop("kept") < 1.05 * ceil(case.time_steps / count) / case.time_steps, count
        assert max(errors.values()) <= (2e-6 if case.loss else 1e-12), (
            count,
            errors,
        )  # losses are computed in float32


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [SIZES, {**NETWORK, "norm": True}], ids=["layers", "norms"])
def test_parts_of_the_time_steps_in_float32(sizes):
    (errors,) = apart(Case("jax", parallel="time", **sizes), [4], False).values()
    errors.pop("kept")
    assert max(errors.values()) <= 2e-5, errors


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("spyx", {}, "spyx's neurons in construction 'default' hand no state in and out"),
        (
            "rockpool-jax",
            {},
            "rockpool-jax's neurons in construction 'default' hand no state in and out",
        ),
        (
            "jax",
            {"construction": "associative-scan", "neuron": NeuronSpec("none")},
            "'associative-scan' hand no state",
        ),
        ("jax", {"time_steps": 3}, "4 ranks cannot share time steps of 3"),
    ],
)
def test_what_cannot_be_shared_is_refused(name, changes, words):
    case = Case(name, parallel="time", ranks=4, **{**SIZES, **changes})
    assert words in load(FRAMEWORKS[name]).refuses(case, workload_of(case).network(case))
