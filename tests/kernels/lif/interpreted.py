"""The Triton kernels against the reference in Triton's interpreter: tests/kernels/test_interpreted.py
runs this file.

The interpreter runs every operation of every block in NumPy, some 0.1 s for a block and chunk of
steps: cases are small.
"""

import math
from dataclasses import replace

import pytest
import torch
from support.slow import representatives
from support.triton_checks import (
    backward_call,
    check_backward,
    check_forward,
    currents,
    forward_call,
    rounding_to_bfloat16,  # noqa: F401 a fixture of every test
    twin,
)

from snnbench.kernels import LinearLIF
from snnbench.kernels.lif import lif, reference
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS
from snnbench.kernels.lif.operator import run
from snnbench.kernels.lif.triton import launch as triton_launch
from snnbench.kernels.linear_lif.split_formats import bf16_triple
from snnbench.kernels.spec import NEURONS, SURROGATES, NeuronSpec

assert triton_launch.INTERPRETED, "run with TRITON_INTERPRET=1"


SIZES = [(1, 1, 1), (31, 1, 5), (32, 2, 3), (33, 5, 7), (67, 1, 9)]

COMBINATIONS = [
    (reset, detached)
    for reset in NEURONS
    for detached in ((True,) if reset == "none" else (True, False))
]


@pytest.mark.parametrize(
    ("number", "reset", "detached"),
    representatives([(i, *c) for i, c in enumerate(COMBINATIONS)], quick=(1, 5)),
)
def test_resets_and_surrogates_with_everything_optional(number, reset, detached):
    """33 steps are one more than a chunk. Every surrogate is tested with one of the resets."""
    spec = NeuronSpec(reset, detached, 0.9, 0.8, SURROGATES[number % len(SURROGATES)], 1.5)
    x = currents(33, 3, 5)
    state, scale, shift = torch.randn(3, 5), torch.rand(5) + 0.5, torch.randn(5) / 10
    done = check_forward(
        forward_call(spec, x, state=state, scale=scale.expand(3, 5), shift=shift.expand(3, 5))
    )
    assert 0.05 < done.spikes.mean() < 0.9
    check_backward(backward_call(done))


@pytest.mark.parametrize("steps, batch, neurons", representatives(SIZES, quick=(0,)))
def test_odd_sizes(steps, batch, neurons):
    """(33, 5, 7) has three sequences more than a block."""
    done = check_forward(forward_call(NEURONS["hard"], currents(steps, batch, neurons)))
    check_backward(backward_call(done))


def test_nothing_optional():
    call = forward_call(NEURONS["soft"], currents(9, 2, 5))
    check_forward(replace(call, trace=None, checkpoints=None))
    call = backward_call(check_forward(call))
    check_backward(
        replace(
            call,
            grad_trace=None,
            grad_final=None,
            grad_state=None,
            sum_error=None,
            sum_by_current=None,
        )
    )
    check_backward(replace(call, grad_spikes=None, grad_currents=None))


def test_normalisation_in_the_same_pass():
    """`center`, `mix_error`, `mix_current` and `mix_constant`, per channel of (T, B, C, H)."""
    x = currents(35, 2, 3, 5)
    scale, shift, *mixed = [torch.randn(3).view(3, 1).expand(2, 3, 5) for _ in range(6)]
    done = check_forward(forward_call(NEURONS["soft"], x, scale=scale, shift=shift))
    check_backward(
        backward_call(
            done,
            **dict(zip(("center", "mix_error", "mix_current", "mix_constant"), mixed, strict=True)),
        )
    )


LAYOUTS = {
    "time last": lambda x: x.permute(1, 2, 3, 4, 0).contiguous().permute(4, 0, 1, 2, 3),
    "batch last": lambda x: x.transpose(1, 4).contiguous().transpose(1, 4),
    "channels last": lambda x: x.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3),
    "every second": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "same for every batch item": lambda x: x[:, :1].expand(-1, 2, -1, -1, -1),
}


@pytest.mark.parametrize("layout", representatives(LAYOUTS, quick=(0, 2)))
def test_memory_orders(layout):
    """Currents of any strides, with gradients of other strides."""
    x = LAYOUTS[layout](currents(5, 2, 3, 2, 2))
    scale = (torch.rand(3) + 0.5).view(3, 1, 1).expand(2, 3, 2, 2)
    done = check_forward(
        replace(forward_call(NEURONS["soft"], x, scale=scale), spikes=torch.full_like(x, 255))
    )
    check_backward(backward_call(done))


def test_expanded_gradient_is_read_in_place():
    done = check_forward(forward_call(NEURONS["hard"], currents(7, 2, 6)))
    check_backward(replace(backward_call(done), grad_spikes=torch.ones(()).expand(7, 2, 6)))


@pytest.mark.parametrize(
    "dtype", representatives([torch.float16, torch.bfloat16], quick=(1,)), ids=str
)
def test_short_formats(dtype):
    """Spikes have the same bits; a gradient is rounded once, when it is stored."""
    done = check_forward(
        forward_call(NEURONS["soft"], currents(33, 2, 7, dtype=dtype), spikes_dtype=dtype)
    )
    limit = torch.finfo(dtype).eps / 2
    check_backward(backward_call(done, grad_dtype=dtype), limit)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float16], ids=str)
def test_spike_formats(dtype):
    check_forward(forward_call(NEURONS["soft"], currents(5, 2, 7), spikes_dtype=dtype))


@pytest.mark.parametrize("shape", [(9, 2, 3, 21), (3, 2, 8), (33, 1, 1), (4, 13)], ids=str)
def test_bits(shape):
    check_forward(forward_call(NEURONS["soft"], currents(*shape), bits=True))


def test_bits_of_transposed_currents():
    check_forward(forward_call(NEURONS["hard"], currents(5, 21, 3).transpose(1, 2), bits=True))


@pytest.mark.parametrize(
    ("reset", "more"),
    [
        ("soft", {"slope": 2.0}),
        ("soft-undecayed", {"slope": 2.0}),
        ("none", {"slope": 2.0}),
        ("soft", {"surrogate": "straight-through", "rounding": "nearest"}),
    ],
    ids=["soft", "soft-undecayed", "none", "rounding"],
)
def test_counts(reset, more):
    """Currents are multiples of half a threshold that is no power of two, so that quotients lie at
    the edge of a count, and halves are rounded."""
    spec = NeuronSpec(reset, threshold=0.3, max_spikes=3, decay=0.5, **more)
    x = torch.cat([torch.arange(-40, 56).view(3, 2, 16) * spec.threshold / 2, currents(20, 2, 16)])
    done = check_forward(forward_call(spec, x, spikes_dtype=torch.uint8))
    assert set(done.spikes.unique().tolist()) == {0, 1, 2, 3}
    check_backward(backward_call(done))


@pytest.mark.parametrize(
    ("reset", "max_spikes"),
    [(reset, n) for reset in NEURONS for n in (1, 2) if n == 1 or not reset.startswith("hard")],
)
def test_nan_and_infinities(reset, max_spikes):
    """They stay in their own sequences."""
    x = currents(6, 1, 8)
    x[2, 0, 1], x[2, 0, 3], x[2, 0, 5], x[3, 0, 5] = math.nan, math.inf, -math.inf, math.inf
    check_forward(forward_call(NeuronSpec(reset, max_spikes=max_spikes), x))


def test_shapes_for_many_sequences(monkeypatch):
    """Chunks are shorter than between checkpoints, a thread has several sequences, and nothing
    is loaded ahead."""
    monkeypatch.setattr(triton_launch, "MANY_SEQUENCES", 0)
    x = currents(37, 1, 48)
    call = forward_call(NEURONS["soft"], x)
    assert triton_launch.forward_launch(call).arguments["STEPS"] < CHECKPOINT_STEPS
    call = backward_call(check_forward(call))
    assert not triton_launch.backward_launch(call).arguments["AHEAD"]
    check_backward(call)


def test_wide_sequence_numbers(monkeypatch):
    monkeypatch.setattr(triton_launch, "WIDE_SEQUENCES", 0)
    done = check_forward(forward_call(NEURONS["soft"], currents(3, 2, 7)))
    check_backward(backward_call(done))


def test_offsets_beyond_32_bits():
    """Steps lie 2³² elements apart. (Untouched memory takes no space.)"""
    x = torch.empty(2**32 + 8, dtype=torch.float16).as_strided((2, 1, 8), (2**32, 8, 1))
    x.copy_(currents(2, 1, 8))
    call = forward_call(NEURONS["soft"], torch.zeros(2, 1, 8, dtype=torch.float16))
    expected = replace(twin(call), currents=x.contiguous())
    reference.forward(expected)
    triton_launch.forward(replace(call, currents=x))
    assert torch.equal(call.trace, expected.trace)


def parts_like(x: torch.Tensor) -> torch.Tensor:
    return torch.full((3, *x.shape), math.nan, dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("shape", "whole"),
    representatives([((33, 5, 7), True), ((40, 2, 16), False)], quick=(1,)),
    ids=str,
)
def test_a_gradient_split_as_it_is_written(shape, whole):
    """The parts equal a later split of the gradient, whether the gradient is written too or not."""
    given = backward_call(check_forward(forward_call(NEURONS["soft"], currents(*shape))))
    gv = given.grad_trace
    gv[3, 0, 2], gv[-1, 0, 1], gv[-1, 1, 0] = (
        math.nan,
        math.inf,
        3.4e38,
    )  # the last of which bfloat16 would round to infinity
    alone, call = twin(given), replace(twin(given), grad_parts=parts_like(given.currents))
    triton_launch.backward(alone)
    triton_launch.backward(call if whole else replace(call, grad_currents=None))
    assert (
        call.grad_currents.isnan().any() and call.grad_currents.isinf().any()
        if whole
        else call.grad_currents.isnan().all()
    )
    if whole:
        torch.testing.assert_close(
            call.grad_currents, alone.grad_currents, rtol=0, atol=0, equal_nan=True
        )
    expected = bf16_triple(alone.grad_currents.flatten(1)).parts
    for actual, part in zip(call.grad_parts, expected, strict=True):
        torch.testing.assert_close(actual.flatten(1), part, rtol=0, atol=0, equal_nan=True)
    assert (expected[2] != 0).float().mean() > 0.5


def test_parts_that_lie_in_another_order_than_the_currents():
    x = currents(5, 3, 2, 2, 2)
    call = backward_call(check_forward(forward_call(NEURONS["hard"], x)))
    parts = parts_like(x).permute(0, 1, 5, 3, 2, 4).contiguous().permute(0, 1, 4, 3, 5, 2)
    call = replace(call, grad_parts=parts)
    run(triton_launch.backward, call)
    assert torch.equal(sum(part.float() for part in parts), call.grad_currents)


@pytest.mark.parametrize("of_input", representatives([False, True], quick=(1,)))
def test_a_linear_layer_multiplies_what_the_neuron_split(monkeypatch, of_input):
    """dW of the fp32 tier has the same bits as with a gradient that is split in a separate pass."""
    torch.manual_seed(1)
    layer = LinearLIF(19, 6, tier="fp32", emulate=True, input="spikes", backend="triton")
    x, gradients = (torch.rand(35, 2, 19) < 0.4).float(), []
    for writes in (True, False):
        monkeypatch.setattr(triton_launch, "WRITES_PARTS", writes)
        layer.zero_grad()
        given = x.clone().requires_grad_(of_input)
        layer(given).backward(torch.arange(6.0).expand(35, 2, 6))
        gradients.append([given.grad, layer.linear.weight.grad, layer.linear.bias.grad])
    assert (gradients[0][0] is not None) == of_input
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True) if a is not None)
    assert gradients[0][1].abs().sum() > 0


def test_through_the_operator():
    """`lif` with this backend: the same output and the same gradients as with the reference."""
    results = []
    for backend in ("reference", "triton"):
        x, scale, shift = (
            t.requires_grad_() for t in (currents(4, 3, 6), torch.ones(6), torch.zeros(6))
        )
        out = lif(x, NEURONS["soft"], scale=scale, shift=shift, trace=True, backend=backend)
        (out.spikes.sum() + out.trace.square().sum() + out.state.sum()).backward()
        results.append((out.spikes, out.state, out.trace, x.grad, scale.grad, shift.grad))
    for actual, expected in zip(*reversed(results), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
