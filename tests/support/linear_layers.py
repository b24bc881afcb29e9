"""Layers, inputs and a float64 comparison that the tests of LinearLIF share."""

import copy

import pytest
import torch
from support import tensor_core

from snnbench.kernels import LinearLIF
from snnbench.kernels.linear_lif import split_cache
from snnbench.kernels.linear_lif.split_formats import TIERS

TIMES, BATCH, INPUTS, NEURONS = 70, 3, 45, 33
TOLERANCE = {None: 2e-6, "fp32": 2e-6, "fp32-pair": 2e-6, "tf32": 0.1, "bf16": 0.3}
"""Relative L2 error of gradients against float64. In short tiers single spikes differ, which
changes all later steps."""


@pytest.fixture(autouse=True)
def empty_cache():
    split_cache.forget()


def layer(dtype=torch.float32, spec=None, bias=True, **options) -> LinearLIF:
    """Its neurons fire at about one in five steps."""
    torch.manual_seed(1)
    made = LinearLIF(INPUTS, NEURONS, bias, spec, **options)
    with torch.no_grad():
        made.linear.weight.mul_(3)
    return made.to(dtype)


def spikes_in(counts=1):
    return tensor_core.spikes(TIMES * BATCH, INPUTS, counts=counts).view(TIMES, BATCH, INPUTS)


UPSTREAM = torch.randn(TIMES, BATCH, NEURONS, generator=torch.Generator().manual_seed(2))


def results(module, x):
    """Spikes and gradients by x, weight and bias, in float64."""
    x = x.detach().clone().requires_grad_()
    spikes = module(x)
    spikes.backward(UPSTREAM.to(spikes))
    bias = module.linear.bias
    return [
        t.detach().double()
        for t in (spikes, x.grad, module.linear.weight.grad, *([] if bias is None else [bias.grad]))
    ]


def relative(actual, exact):
    return float((actual - exact).norm() / exact.norm())


def check_against_float64(module, x, tier):
    exact = results(copy.deepcopy(module).double(), x.double())
    actual = results(module, x)
    assert 0.05 < exact[0].mean() < 0.5
    if TIERS[tier].is_float32 if tier else True:
        assert torch.equal(actual[0], exact[0])
    for got, expected in zip(actual[1:], exact[1:], strict=True):
        assert relative(got, expected) <= TOLERANCE[tier]
    return actual
