"""The fused neuron with a synaptic current, against the float64 oracle and in pieces."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.neurons import currents_of, gradients_of, relative

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.proof import oracle
from snnbench.proof.recurrence import synaptic

SPECS = [
    NeuronSpec("soft", current_decay=0.8),
    NeuronSpec("hard", decay=0.7, current_decay=0.5, surrogate="atan"),
]


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("spec", SPECS, ids=NeuronSpec.label)
def test_it_is_the_oracle(spec, backend):
    x = 0.5 * currents_of(37, 3, 97)
    (spikes, state), (gradient,) = gradients_of(lambda x: lif(x, spec, backend=backend)[:2], x)
    _, expected = oracle.run(spec, x.double().numpy())
    assert np.array_equal(spikes.detach().numpy(), expected), (
        "choose another seed: float32 and float64 decide differently"
    )
    assert np.allclose(state[0].detach().numpy(), synaptic(spec, x.double().numpy())[-1], atol=1e-5)
    exact = gradients_of(lambda x: lif(x, spec, backend="reference")[:2], x.double())[1][0]
    assert relative(gradient, exact) <= 1e-6


def test_pieces_give_the_bits_of_the_whole():
    spec, x = SPECS[0], 0.5 * currents_of(37, 3, 97)
    whole = lif(x, spec, trace=True)
    first = lif(x[:20], spec, trace=True)
    second = lif(x[20:], spec, state=first.state, trace=True)
    assert torch.equal(whole.spikes, torch.cat([first.spikes, second.spikes])) and torch.equal(
        whole.state, second.state
    )
    assert torch.equal(whole.trace, torch.cat([first.trace, second.trace]))
    with pytest.raises(ValueError, match="synaptic current and potential"):
        lif(x, spec, state=first.state[0])


def test_scale_and_shift_act_on_the_currents_before_the_synapse():
    spec, x = SPECS[0], 0.5 * currents_of(37, 3, 97)
    scale, shift = currents_of(97, seed=3), 0.1 * currents_of(97, seed=4)
    actual = gradients_of(
        lambda x, scale, shift: lif(x, spec, scale=scale, shift=shift)[:1], x, scale, shift
    )
    plain = gradients_of(lambda x, scale, shift: lif(x * scale + shift, spec)[:1], x, scale, shift)
    assert (actual[0][0] != plain[0][0]).float().mean() < 1e-4
    assert all(
        relative(got, expected) < 1e-4 for got, expected in zip(actual[1], plain[1], strict=True)
    )


def test_a_module_has_it_and_layers_that_fuse_the_neuron_refuse_it():
    x = currents_of(12, 3, 8)
    assert torch.equal(LIF(SPECS[0])(x), lif(x, SPECS[0]).spikes)
    for layer in (LinearLIF(8, 5, spec=SPECS[0]), BatchNormLIF(3, replace(SPECS[0], decay=0.5))):
        with pytest.raises(ValueError, match="needs the module LIF, behind a separate"):
            layer(currents_of(12, 2, 3, 8) if isinstance(layer, BatchNormLIF) else x)
