"""The gradient by images by Winograd's algorithm, against sums in float64."""

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.neurons import relative
from support.slow import representatives
from torch.nn.functional import conv_transpose2d

from snnbench.kernels import ConvLIF
from snnbench.kernels.conv_lif import spikes, winograd
from snnbench.kernels.conv_lif.alone import Conv2d

LIMIT = 2e-6
"""Largest relative L2 error; about 8e-7 were seen."""


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def check(steps, batch, outputs, channels, image, padding, stride=1):
    """Raises AssertionError unless the gradient is near that in float64. Returns it."""
    sides = list(zip(image, padding, strict=True))
    places = [(side + 2 * pad - 3) // stride + 1 for side, pad in sides]
    g, weight = drawn(steps, batch, *places, outputs), drawn(outputs, channels, 3, 3, seed=1)
    found = winograd.by_input(g, image, weight, (stride, stride), padding)
    images = g.flatten(0, 1).permute(0, 3, 1, 2).double()
    rest = [(side + 2 * pad - 3) % stride for side, pad in sides]
    exact = conv_transpose2d(images, weight.double(), None, stride, padding, rest)
    error = relative(found.flatten(0, 1).permute(0, 3, 1, 2), exact)
    assert error <= LIMIT, "gradient by the images"
    return found


sizes = st.one_of(st.integers(1, 70), st.sampled_from([16, 32, 64]))


@settings(
    derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.integers(1, 4),
    st.integers(1, 4),
    sizes,
    sizes,
    st.tuples(st.integers(1, 14), st.integers(1, 14)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.integers(1, 2),
)
def test_any_sizes(steps, batch, outputs, channels, image, padding, stride):
    padding = padding if stride == 1 else (1, 1)
    assume(all(side + 2 * pad >= 3 for side, pad in zip(image, padding, strict=True)))
    check(steps, batch, outputs, channels, image, padding, stride)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(winograd, "WORK_OF_A_THREAD", 1)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(check(5, 3, 17, 33, (13, 11), (1, 1), 2))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("image", "kernel", "stride", "padding", "taken"),
    [
        *(((8, 8), 3, 1, 1, True), ((5, 5), 3, 1, 1, False), ((2, 2), 3, 1, 1, False)),
        *(((16, 16), 3, 2, 1, True), ((16, 16), 3, 2, 0, False), ((9, 9), 3, 2, 1, False)),
        *(((8, 8), 5, 1, 2, False), ((8, 8), 3, 3, 1, False)),
    ],
)
def test_it_is_used_where_tiles_are_full(image, kernel, stride, padding, taken):
    window, weight = ((stride, stride), (padding, padding)), torch.ones(4, 32, kernel, kernel)
    places = [(side + 2 * padding - kernel) // stride + 1 for side in image]
    g, few = torch.ones(5, 7, *places, 4), torch.ones(1, 1, *places, 4)
    assert winograd.takes(g, image, weight, *window) == taken
    assert not winograd.takes(few, image, weight, *window)
    assert not winograd.takes(g, image, weight[:, :7], *window)
    wide = torch.ones(1).expand(4096, 64, kernel, kernel)
    assert not winograd.takes(g, image, wide, *window)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("recompute", [False, True])
def test_modules_use_it(monkeypatch, alone, recompute):
    """Padding of two zeros, and behind a convolution without a neuron; not to save memory."""
    calls, real = [], winograd.by_input
    monkeypatch.setattr(winograd, "by_input", lambda *a: (calls.append(a), real(*a))[1])
    monkeypatch.setattr(winograd, "LEAST_TILES", 1)
    monkeypatch.setattr(winograd, "MOST_WORK", 10)
    monkeypatch.setattr(spikes, "LEAST_CHANNELS", 1)
    monkeypatch.setattr(spikes, "LEAST_WEIGHT", 1)
    x = (drawn(5, 4, 6, 8, 7) > 1).float().requires_grad_()
    conv = Conv2d(6, 9, 3, padding=2) if alone else None
    layer = ConvLIF(6, 9, 3, padding=2, recompute=recompute) if conv is None else conv
    images = x.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    out = layer(images.flatten(0, 1)) if alone else layer(images)
    upstream = drawn(*out.shape, seed=2)
    (found,) = torch.autograd.grad(out, x, upstream)
    assert bool(calls) != (recompute and not alone)
    monkeypatch.setattr(winograd, "takes", lambda *a: False)
    out = layer(images.flatten(0, 1)) if alone else layer(images)
    (direct,) = torch.autograd.grad(out, x, upstream)
    assert relative(found, direct) <= LIMIT


def test_other_instruction_sets(compile_for_other_processor):
    compile_for_other_processor()
    winograd._function.cache_clear()
    check(5, 3, 37, 21, (13, 11), (1, 1))
    check(5, 3, 37, 21, (13, 11), (1, 1), 2)


FAULTS = {
    "an even pixel reads another tap": ("to[0] = w[1];", "to[0] = w[2];"),
    "a factor has a wrong sign": ("A * (d[3] - 2.0f * d[1])", "A * (d[3] + 2.0f * d[1])"),
    "the last row of a tile is that of another point": ("+ 2.0f * less_b + m[5]", "+ 2.0f * less_b"),
    "the border is read as zeros one pixel too early": ("top + y < n.from[0]", "top + y < n.from[0] - 1"),
    "a tile is put in the place of the next": ("finish_tile<Stride>(n, sums + i * columns, of_sums, y * Stride::SIDE, x", "finish_tile<Stride>(n, sums + i * columns, of_sums, y * Stride::SIDE, (x + 1) % across"),
    "a product takes the weight of another": ("product < 4 ? 0 : product - 3", "product < 4 ? 0 : product - 4"),
    "memory is refused": ("if (!memory) return NO_MEMORY;\n  float* const right", "return NO_MEMORY;\n  float* const right"),
}  # fmt: skip


@pytest.mark.parametrize("fault", representatives(FAULTS, [3]))
def test_planted_faults_are_seen(plant, compiled_anew, fault):
    plant(winograd, *FAULTS[fault], "winograd.cpp")
    winograd._function.cache_clear()
    refused = (MemoryError, "refused its working memory")
    expected = refused if "memory" in fault else (AssertionError, "gradient by the images")
    with pytest.raises(expected[0], match=expected[1]):
        for stride in (1, 2):
            check(5, 4, 37, 21, (13, 11), (1, 1), stride)
