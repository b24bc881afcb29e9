"""Calls of the CUDA kernels, run on a CPU and compared with the reference."""

import math
from dataclasses import replace

import torch
from support import cuda_emulation

from snnbench.kernels.lif import reference
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Backward, Forward
from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.linear_lif.split_formats import bf16_triple
from snnbench.kernels.spec import NeuronSpec

ROUNDING = {torch.float32: 0, torch.float16: 2**-11, torch.bfloat16: 2**-8}
"""Relative error of storing a number, by type."""

GUARD = 64
UNTOUCHED = 77.0


def guarded(like: torch.Tensor, dtype=None) -> torch.Tensor:
    """An output with the strides of `like` inside a larger buffer, filled with a number that
    must not change outside."""
    extent = 1 + sum(
        (size - 1) * stride for size, stride in zip(like.shape, like.stride(), strict=True)
    )
    buffer = torch.full((extent + 2 * GUARD,), UNTOUCHED, dtype=dtype or like.dtype)
    return buffer.as_strided(like.shape, like.stride(), GUARD)


def assert_untouched(output: torch.Tensor | None) -> None:
    if output is not None:
        buffer = output.as_strided(
            (output.untyped_storage().nbytes() // output.element_size(),), (1,), 0
        ).clone()
        inside = torch.zeros_like(buffer, dtype=torch.bool)
        inside.as_strided(output.shape, output.stride(), GUARD).fill_(True)
        assert (buffer[~inside] == UNTOUCHED).all(), "something was written beside an output"


def dense_like(x: torch.Tensor, dtype=None) -> torch.Tensor:
    return torch.empty_like(x, dtype=dtype)


def currents(*shape: int, dtype=torch.float32, seed: int = 0) -> torch.Tensor:
    """Currents that make the neurons fire in about a third of the steps."""
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 0.8 + 0.4).to(
        dtype
    )


def channel(values_from: int, x: torch.Tensor, dim: int) -> torch.Tensor:
    """One number near 1 for each channel, expanded over a step of x."""
    shape = [1] * (x.dim() - 1)
    shape[dim] = x.shape[1:][dim]
    values = 1 + 0.3 * torch.randn(shape[dim], generator=torch.Generator().manual_seed(values_from))
    return values.view(shape).expand(x.shape[1:])


def forward_call(
    spec, x, spikes_dtype=torch.float32, bits=False, trace=True, checkpoints=True, **given
) -> Forward:
    spikes = dense_like(x, spikes_dtype)
    if bits:
        spikes = torch.empty(*x.shape[:-1], (x.shape[-1] + 7) // 8, dtype=torch.uint8)
    chunks = -(-len(x) // CHECKPOINT_STEPS)
    return Forward(
        spec=spec,
        currents=x,
        spikes=guarded(spikes),
        bits=bits,
        final_state=guarded(dense_like(x[0], torch.float32)),
        trace=guarded(dense_like(x)) if trace else None,
        checkpoints=guarded(dense_like(x[:chunks], torch.float32)) if checkpoints else None,
        **given,
    )


def check_forward(spec, x, **options) -> Forward:
    """Run a call both ways: every bit must agree, and nothing may be written beside the outputs."""
    actual, expected = forward_call(spec, x, **options), forward_call(spec, x, **options)
    launch.forward(actual, cuda_emulation.launch)
    reference.forward(expected)
    for name in ("spikes", "final_state", "trace", "checkpoints"):
        a, b = getattr(actual, name), getattr(expected, name)
        assert (a is None and b is None) or torch.equal(
            a.nan_to_num(nan=5.5), b.nan_to_num(nan=5.5)
        ), name
        assert_untouched(a)
    return expected


def check_backward(
    spec, x, needed=("grad_currents", "grad_state", "sum_error", "sum_by_current"), **given
) -> None:
    """Run a backward call by CUDA's source and by the reference in float64: results must agree."""
    channels = {name: given.get(name) for name in ("scale", "shift")}
    forward = forward_call(spec, x, **channels)
    reference.forward(forward)
    doubled = {name: double(value) for name, value in {**channels, **given}.items()}
    exact_forward = forward_call(spec, x.double(), **{name: doubled[name] for name in channels})
    exact_forward = replace(
        exact_forward,
        checkpoints=exact_forward.checkpoints.double(),
        final_state=torch.empty(x.shape[1:]).double(),
    )
    reference.forward(exact_forward)
    assert torch.equal(forward.spikes, exact_forward.spikes.float()), (
        "a threshold is met within rounding: choose another seed"
    )

    outputs = {
        "grad_currents": x,
        **dict.fromkeys(
            ("grad_state", "sum_error", "sum_by_current"), dense_like(x[0], torch.float32)
        ),
    }

    def call(currents, checkpoints, inputs, dtype):
        return Backward(
            spec=spec,
            currents=currents,
            checkpoints=checkpoints,
            **inputs,
            **{
                name: guarded(dense_like(like, dtype)) if name in needed else None
                for name, like in outputs.items()
            },
        )

    actual, expected = (
        call(x, forward.checkpoints, given, None),
        call(x.double(), exact_forward.checkpoints, doubled, torch.float64),
    )
    launch.backward(actual, cuda_emulation.launch)
    reference.backward(expected)
    for name in needed:
        a, b = getattr(actual, name), getattr(expected, name)
        error = (a.double() - b).norm() / b.norm().clamp_min(1e-30)
        assert error <= 1e-6 + ROUNDING[a.dtype], f"{name}: {error:.2e}"
        assert_untouched(a)


def check_parts(whole: bool) -> None:
    """The parts equal a later split of the gradient, whether the gradient is written too or not."""
    x = currents(70, 3, 10)
    gs, gv = upstream(x), upstream(x, seed=4)
    gv[40, 0, 1], gv[69, 1, 2] = math.nan, math.inf
    gv[69, 1, 3], gv[69, 1, 4] = 3.4e38, -3.4e38  # which bfloat16 would round to infinity
    forward = forward_call(NeuronSpec(), x)
    reference.forward(forward)
    upstreams = {"grad_spikes": gs, "grad_trace": gv}
    given = {"spec": NeuronSpec(), "currents": x, "checkpoints": forward.checkpoints, **upstreams}
    alone = Backward(**given, grad_currents=torch.empty_like(x))
    parts = guarded(x.expand(3, *x.shape).contiguous(), torch.bfloat16)
    call = Backward(**given, grad_currents=guarded(x) if whole else None, grad_parts=parts)
    for each in (alone, call):
        launch.backward(each, cuda_emulation.launch)
    if whole:
        assert_untouched(call.grad_currents)
        torch.testing.assert_close(
            call.grad_currents, alone.grad_currents, rtol=0, atol=0, equal_nan=True
        )
    assert_untouched(parts)
    for actual, expected in zip(
        parts, bf16_triple(alone.grad_currents.flatten(1)).parts, strict=True
    ):
        torch.testing.assert_close(
            actual.flatten(1), expected, rtol=0, atol=0, equal_nan=True, msg="part"
        )


def double(value):
    return None if value is None else value.double()


def upstream(x: torch.Tensor, seed: int = 9, dtype=torch.float32) -> torch.Tensor:
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
