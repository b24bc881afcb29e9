"""The fused recurrent layer with the linear layer in front of it, and recomputed."""

import pytest
import torch
from support.neurons import currents_of, relative

from snnbench.kernels import RecurrentLIF


def layer_of(inputs, neurons, **options):
    """A layer with weights that make some of its neurons fire at inputs of 15 %."""
    layer = RecurrentLIF(neurons, inputs=inputs, **options)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, values in layer.named_parameters():
            scale = {"weight_ih_l0": inputs**-0.5, "weight_hh_l0": 0.5 * neurons**-0.5}
            values.copy_(torch.randn(values.shape, generator=generator) * scale.get(name, 0.1))
    return layer


def spikes_in(*shape, seed=4):
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.15).float()


def layer_results(layer, x, upstream, state=None):
    """Spikes, gradients by input, parameters and state, and the final state."""
    leaves = [x.detach().requires_grad_(), *layer.parameters()]
    leaves += [] if state is None else [state.detach().requires_grad_()]
    out = layer.run(leaves[0], None if state is None else leaves[-1])
    outputs, by_final = [out.spikes, out.state], 0.1 * torch.ones_like(out.state)
    gradients = torch.autograd.grad(outputs, leaves, [upstream.to(out.spikes), by_final])
    return [out.spikes.detach(), out.state.detach(), *gradients]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("shape", "inputs", "dense"),
    [((37, 3, 97), 45, False), ((130, 3, 33), 24, False)],
    ids=str,
)
def test_a_linear_layer_in_front_is_torch_s(shape, inputs, dense, bias, recompute):
    layer = layer_of(inputs, shape[2], bias=bias, recompute=recompute)
    x = currents_of(*shape[:2], inputs) if dense else spikes_in(*shape[:2], inputs)
    state = torch.stack([currents_of(*shape[1:]), spikes_in(*shape[1:])])
    found = layer_results(layer, x, upstream := currents_of(*shape, seed=1), state)
    exact = layer_of(inputs, shape[2], bias=bias, backend="reference").double()
    expected = layer_results(exact, x.double(), upstream.double(), state.double())
    assert torch.equal(found[0].double(), expected[0]), "spikes differ: a fault, or another seed"
    assert found[0].any()
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        assert ours.dtype == torch.float32 and relative(ours, theirs) <= 5e-6
