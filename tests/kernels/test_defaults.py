"""Kernels do not ask torch for its default type or device: a user may have set others than those
of a call's tensors."""

from contextlib import contextmanager, nullcontext

import pytest
import torch

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, RecurrentLIF


@contextmanager
def default(other):
    """torch's default type or device is another meanwhile."""
    before = torch.get_default_dtype()
    if isinstance(other, torch.dtype):
        torch.set_default_dtype(other)
    try:
        with nullcontext() if isinstance(other, torch.dtype) else torch.device(other):
            yield
    finally:
        torch.set_default_dtype(before)


def results_of(module, x, upstream):
    spikes = module(x)
    spikes.backward(upstream)
    return [spikes, x.grad, *(p.grad for p in module.parameters()), *module.buffers()]


@pytest.mark.parametrize("other", [torch.float64, torch.float16, "meta"], ids=str)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", [LIF, LinearLIF, BatchNormLIF, RecurrentLIF])
def test_results_are_the_same_under_other_defaults(kind, dense, other):
    options = {"input": "spikes"} if kind is LinearLIF else {}
    sizes, features = {LIF: ((), 11), LinearLIF: ((11, 7), 7)}.get(kind, ((11,), 11))
    drawn = torch.rand(37, 3, 11, generator=torch.Generator().manual_seed(0))
    x, upstream = drawn if dense else (drawn < 0.3).float(), torch.ones(37, 3, features)
    first, second = kind(*sizes, **options), kind(*sizes, **options)
    second.load_state_dict(first.state_dict())
    expected = results_of(first, x.clone().requires_grad_(), upstream)
    with default(other):
        found = results_of(second, x.clone().requires_grad_(), upstream)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
