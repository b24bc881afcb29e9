"""Calls of the Triton kernels, run in Triton's interpreter and compared with the reference."""

import math
from dataclasses import fields

import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

from snnbench.kernels.lif import reference
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Backward, Forward
from snnbench.kernels.lif.triton import launch


@pytest.fixture(autouse=True)
def rounding_to_bfloat16(monkeypatch):
    """The interpreter rounds float32 to bfloat16 without a carry into the exponent: 1.999
    becomes 1."""
    convert = interpreter._convert_float

    def fixed(values, source, target, rounding):
        if (source, target) != (tl.float32, tl.bfloat16):
            return convert(values, source, target, rounding)
        return (
            torch.from_numpy(values.copy())
            .view(torch.float32)
            .bfloat16()
            .view(torch.uint16)
            .numpy()
        )

    monkeypatch.setattr(interpreter, "_convert_float", fixed)


def forward_call(
    spec, currents, spikes_dtype=torch.float32, bits=False, state=None, scale=None, shift=None
) -> Forward:
    """A call that writes everything. Outputs start as NaN or 255, so that unwritten elements are
    noticed."""
    *outer, last = currents.shape
    spikes = (
        torch.full((*outer, (last + 7) // 8), 255, dtype=torch.uint8)
        if bits
        else torch.full_like(currents, 255, dtype=spikes_dtype)
    )
    chunks = -(-len(currents) // CHECKPOINT_STEPS)
    return Forward(
        spec=spec,
        currents=currents,
        state=state,
        scale=scale,
        shift=shift,
        spikes=spikes,
        bits=bits,
        final_state=torch.full(currents.shape[1:], math.nan),
        trace=torch.full_like(currents, math.nan),
        checkpoints=torch.full_like(currents[:1], math.nan, dtype=torch.float32)
        .expand(chunks, *currents.shape[1:])
        .clone(),
    )


def twin(call, dtype=None):
    """The call with copies of all tensors, in `dtype` if given."""
    copies = {}
    for field in fields(call):
        value = getattr(call, field.name)
        if isinstance(value, torch.Tensor):
            value = value.clone() if dtype is None else value.to(dtype)
        copies[field.name] = value
    return type(call)(**copies)


def check_forward(call: Forward) -> Forward:
    """Runs the call; spikes, trace, final state and checkpoints must have the reference's bits.
    Returns the call."""
    expected = twin(call)
    reference.forward(expected)
    launch.forward(call)
    for name in ("spikes", "trace", "final_state", "checkpoints"):
        if getattr(call, name) is not None:
            torch.testing.assert_close(
                getattr(call, name),
                getattr(expected, name),
                rtol=0,
                atol=0,
                equal_nan=True,
                msg=name,
            )
    return call


def backward_call(done: Forward, seed=0, grad_dtype=torch.float32, **more) -> Backward:
    """The backward pass of a forward pass that was run, with all gradients given and all results
    requested."""
    torch.manual_seed(seed)
    x = done.currents
    inner = [torch.full(x.shape[1:], math.nan) for _ in range(3)]
    return Backward(
        spec=done.spec,
        currents=x,
        scale=done.scale,
        shift=done.shift,
        checkpoints=done.checkpoints,
        grad_spikes=torch.randn(x.shape).to(grad_dtype),
        grad_trace=torch.randn(x.shape).to(grad_dtype),
        grad_final=torch.randn(x.shape[1:]),
        grad_currents=torch.full_like(x, math.nan),
        grad_state=inner[0],
        sum_error=inner[1],
        sum_by_current=inner[2],
        **more,
    )


def check_backward(call: Backward, limit=1e-6) -> None:
    """Runs the call; results must agree with the reference in float64, to a relative L2 distance
    of `limit`."""
    exact = twin(call, torch.float64)
    reference.backward(exact)
    launch.backward(call)
    for name in ("grad_currents", "grad_state", "sum_error", "sum_by_current"):
        if (actual := getattr(call, name)) is not None:
            expected = getattr(exact, name)
            assert (actual.double() - expected).norm() <= limit * expected.norm(), name


def currents(*shape, dtype=torch.float32, seed=0) -> torch.Tensor:
    """Currents under which neurons fire in about a third of the steps."""
    torch.manual_seed(seed)
    return (0.4 + torch.randn(shape)).to(dtype)
