"""Surrogates, thresholds, and the neurons of the papers.

What a framework can spell is proved, what it cannot is refused with a reason.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.expected import HERE, adapter_of, case_of, on_jax
from support.networks import network_of
from support.proofs import proof_of, refusal_of
from support.slow import representatives

from snnbench.kernels.spec import SURROGATES, NeuronSpec

pytestmark = pytest.mark.frameworks

ODD = {"time_steps": 31, "batch": 5, "neurons": 61}
PAPERS = {
    "liang": NeuronSpec(
        "hard", decay=0.25, threshold=0.25, surrogate="rectangle"
    ),  # Liang et al., DATE 2022
    "fusion": NeuronSpec(
        "hard", decay=0.2, threshold=0.3, surrogate="rectangle"
    ),  # Li et al., temporal fusion, ICANN 2024
    "ipu": NeuronSpec(
        "soft-undecayed", detach_reset=True, decay=0.9, surrogate="straight-through"
    ),  # snnTorch on IPUs
    "iaf": NeuronSpec(
        "soft", decay=1.0, surrogate="exponential", slope=2.0, max_spikes=8
    ),  # Lenz, Training SNNs, fast
}


def marked(name, *more, quick):
    return pytest.param(name, *more, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "surrogate"),
    [
        marked(name, each, quick=not on_jax(name) and index % 3 == 1)
        for name in HERE
        for index, each in enumerate(SURROGATES)
    ],
)
def test_a_surrogate_is_proved_or_refused(name, surrogate):
    case = case_of(name, NeuronSpec(surrogate=surrogate), **ODD)
    reason = refusal_of(adapter_of(name), case)
    assert (reason is None) == (surrogate in HERE[name]["surrogates"]), reason
    if reason is None:
        proof = proof_of(adapter_of(name), case)
        assert proof.passed, proof.reason


@pytest.mark.parametrize(
    ("name", "surrogate", "slope"),
    [
        ("norse", "sigmoid", 4),
        ("norse:lif", "sigmoid", 4),
        ("spikingjelly", "superspike", 2),
        ("spikingjelly", "atan", 1),
    ],
)
def test_a_surrogate_that_has_another_name_is_proved_with_the_slope_that_it_has(
    name, surrogate, slope
):
    spec = NeuronSpec("hard", surrogate=surrogate, slope=slope)
    proof = proof_of(adapter_of(name), case_of(name, spec, **ODD))
    assert proof.passed, proof.reason
    assert "slope" in refusal_of(adapter_of(name), case_of(name, replace(spec, slope=3), **ODD))


def test_a_steep_atan_keeps_its_height_where_a_framework_s_own_grows_with_its_slope():
    case = case_of("snntorch", NeuronSpec("hard", True, surrogate="atan", slope=2.0), **ODD)
    proof = proof_of(adapter_of("snntorch"), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("paper", representatives(PAPERS, [0]))
@pytest.mark.parametrize("name", [marked(name, quick=not on_jax(name)) for name in HERE])
def test_the_neuron_of_a_paper_is_proved_or_refused(name, paper):
    case = case_of(name, PAPERS[paper], **ODD)
    reason = refusal_of(adapter_of(name), case)
    assert (reason is None) == (paper in HERE[name]["papers"]), reason
    if reason is None:
        proof = proof_of(adapter_of(name), case)
        assert proof.passed, proof.reason


def test_without_a_leak_norse_is_its_iaf():
    spec = NeuronSpec("hard", decay=1.0, detach_reset=False)
    proof = proof_of(adapter_of("norse"), case_of("norse:lif", spec, **ODD))
    assert proof.passed, proof.reason
    for name in ("norse", "norse:lif-box-cell", "norse:layers"):
        assert refusal_of(adapter_of("norse"), case_of(name, spec)) == (
            "LIFBox always leaks; construction lif is IAF where there is no leak"
        )


@pytest.mark.parametrize("name", [marked(name, quick=not on_jax(name)) for name in HERE])
def test_a_potential_of_exactly_the_threshold_fires_or_not(name):
    """Within a unit in the last place below it none fires, above it each does."""
    case = case_of(name, "soft", workload="lif", bias=False, neurons=3, time_steps=1, batch=1)
    adapter_of(name).prepare(case, 1)
    program = adapter_of(name).program(case, network_of(case))
    program.load({})
    one = np.float32(1)
    currents = np.array(
        [np.nextafter(one, np.float32(0)), one, np.nextafter(one, np.float32(2))], np.float32
    )
    result = program.forward(program.put_input(currents.reshape(1, 1, 3)))
    program.wait(result)
    (spikes,) = program.spikes(result).values()
    assert spikes.ravel().tolist() == [0, float(HERE[name]["at_threshold"]), 1]
