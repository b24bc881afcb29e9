"""Liang et al.'s layers, in which the neuron stands first, of our modules: docs/kernels.md."""

import pytest
import torch
from support.autograd import loop
from support.networks import LIANG
from support.neurons import relative
from torch.nn.functional import batch_norm, conv2d, linear

from snnbench.kernels import LIF, BatchNormLIF, SpikesLinear
from snnbench.kernels.conv_lif.alone import Conv2d

STEPS, ITEMS, CHANNELS, SIDE, OUTPUTS = 7, 3, 5, 9, 11


def plain(x, weight, bias, norm):
    """The same in float64, by torch's own functions and a loop over time."""
    if norm:
        x = batch_norm(x.flatten(0, 1), None, None, training=True).unflatten(0, x.shape[:2])
    spikes = loop(LIANG, x)
    if x.dim() == 3:
        return linear(spikes, weight, bias)
    out = conv2d(spikes.flatten(0, 1), weight, bias, padding=1)
    return out.unflatten(0, x.shape[:2])


@pytest.mark.parametrize("norm", [False, True], ids=["fire", "bn-fire"])
@pytest.mark.parametrize("image", [False, True], ids=["fc", "conv"])
def test_a_neuron_in_front_of_a_layer(norm, image):
    generator = torch.Generator().manual_seed(3)
    shape = (STEPS, ITEMS, CHANNELS, *([SIDE, SIDE] if image else []))
    x = torch.randn(shape, generator=generator).requires_grad_()
    fire = BatchNormLIF(CHANNELS, LIANG) if norm else LIF(LIANG)
    layer = Conv2d(CHANNELS, OUTPUTS, 3, padding=1) if image else SpikesLinear(CHANNELS, OUTPUTS)
    spikes = fire(x)
    out = layer(spikes.flatten(0, 1)).unflatten(0, (STEPS, ITEMS)) if image else layer(spikes)
    tensors = (x, layer.weight, layer.bias)
    exact = [each.detach().double().requires_grad_() for each in tensors]
    wanted = plain(*exact, norm)
    upstream = torch.randn(out.shape, generator=generator)
    found = (out, *torch.autograd.grad(out, tensors, upstream))
    right = (wanted, *torch.autograd.grad(wanted, exact, upstream.double()))
    for one, other in zip(found, right, strict=True):
        assert relative(one, other) < 1e-5
