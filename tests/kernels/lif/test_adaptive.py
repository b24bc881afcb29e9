"""The fused neuron with an adaptive threshold, against the float64 oracle."""

import numpy as np
import pytest
import torch
from support.neurons import currents_of, gradients_of, relative, saved_bytes
from support.slow import representatives

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.kernels.lif.adaptive import adaptive_spikes
from snnbench.kernels.spec import SURROGATES
from snnbench.proof.recurrence import run, run_backward

ADAPTIVE = {"adaptation": 0.25, "adaptation_decay": 0.9}
SPECS = [
    *(NeuronSpec("soft", surrogate=surrogate, **ADAPTIVE) for surrogate in SURROGATES),
    *(
        NeuronSpec(reset, detach_reset=detach, decay=0.8, **ADAPTIVE)
        for reset in ("soft", "hard")
        for detach in (True, False)
    ),
    NeuronSpec("soft-undecayed", threshold=0.7, **ADAPTIVE),
    NeuronSpec("none", **ADAPTIVE),
]


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize(
    "spec", representatives(SPECS, range(0, len(SPECS), 4)), ids=NeuronSpec.label
)
@pytest.mark.parametrize("shape", [(37, 3, 97), (1, 2, 5), (65, 1, 3, 4, 31)], ids=str)
def test_it_is_the_oracle(shape, spec, backend):
    x = 0.5 * currents_of(*shape)
    (spikes,), (gradient,) = gradients_of(lambda x: (adaptive_spikes(x, spec, backend),), x)
    _, expected = run(spec, x.double().numpy())
    assert np.array_equal(spikes.detach().numpy(), expected), (
        "choose another seed: float32 and float64 decide differently"
    )
    exact = gradients_of(lambda x: (adaptive_spikes(x, spec),), x.double())[1][0]
    assert relative(gradient, exact) <= 2e-6


@pytest.mark.parametrize("spec", SPECS, ids=NeuronSpec.label)
def test_its_gradient_in_float64_is_the_oracles(spec):
    x = (0.5 * currents_of(37, 3, 97).double()).requires_grad_()
    spikes, upstream = LIF(spec)(x), currents_of(37, 3, 97, seed=1).double()
    spikes.backward(upstream)
    v, expected = run(spec, x.detach().numpy())
    assert np.array_equal(spikes.detach().numpy(), expected)
    np.testing.assert_allclose(
        x.grad.numpy(), run_backward(spec, v, expected, upstream.numpy()), rtol=1e-9, atol=1e-12
    )


def test_threads_do_not_change_it(monkeypatch):
    x, spec = currents_of(50, 4, 997), SPECS[0]
    one = gradients_of(lambda x: (LIF(spec)(x),), x)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    several = gradients_of(lambda x: (LIF(spec)(x),), x)
    assert torch.equal(one[0][0], several[0][0]) and torch.equal(one[1][0], several[1][0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_types_are_computed_in_float32(dtype):
    x = (0.5 * currents_of(20, 3, 17)).to(dtype)
    found = LIF(SPECS[0])(x)
    assert found.dtype == dtype and torch.equal(found.float(), LIF(SPECS[0])(x.float()))


def test_a_forward_keeps_its_currents_and_two_numbers_for_32_steps():
    x = currents_of(64, 2, 128).requires_grad_()
    kept = saved_bytes(LIF(SPECS[0]), x)
    assert kept <= x.numel() * 4 * (1 + 2 / 32)


def test_what_it_does_not_do_is_said():
    x, spec = currents_of(12, 3, 8), SPECS[0]
    with pytest.raises(ValueError, match="starts at rest"):
        LIF(spec)(x, x[0])
    with pytest.raises(ValueError, match="no return_state, no trace"):
        LIF(spec, trace=True)
    with pytest.raises(ValueError, match="no spikes_dtype"):
        LIF(spec, spikes_dtype="bits")
    with pytest.raises(RuntimeError, match="has no adaptive threshold: take 'cpp' or 'reference'"):
        LIF(spec, backend="triton")(x)
    with pytest.raises(RuntimeError, match="computes it in float32"):
        LIF(spec, backend="cpp")(x.bfloat16())
    images = x[None].repeat(2, 1, 1, 1)
    for call in (
        lambda: lif(x, spec),
        lambda: LinearLIF(8, 5, spec=spec)(x),
        lambda: BatchNormLIF(3, spec)(images),
    ):
        with pytest.raises(
            ValueError,
            match=r"with an adaptive threshold .* needs the module LIF",
        ):
            call()
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        torch.autograd.grad(LIF(spec)(x).sum(), x, create_graph=True)
