"""Convolutions that skip the zeros of spikes: sizes, windows, values, threads, instruction sets."""

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.compiled import forget
from support.neurons import relative, saved_bytes
from support.slow import representatives
from torch.nn.functional import conv2d

from snnbench.kernels import ConvLIF
from snnbench.kernels.build import cpp
from snnbench.kernels.conv_lif import alone, spikes
from snnbench.kernels.conv_lif.layouts import channels_first
from snnbench.kernels.linear import dense, record


@dataclass(frozen=True)
class Problem:
    """Weights are multiples of 2^-10: sums of spikes are the same in any order."""

    steps: int = 3
    batch: int = 2
    channels: int = 37
    outputs: int = 19
    image: tuple[int, int] = (9, 7)
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (1, 1)
    rate: float = 0.15
    counts: int = 1
    seed: int = 0

    def drawn(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=torch.Generator().manual_seed(self.seed))

    def weight(self) -> torch.Tensor:
        return (self.drawn(self.outputs, self.channels, *self.kernel) * 1024).round() / 1024

    def input(self) -> torch.Tensor:
        """Channels last, (T, B, H, W, C)."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        shape = (self.steps, self.batch, *self.image, self.channels)
        fired = torch.rand(shape, generator=generator) < self.rate
        return (fired * torch.randint(1, self.counts + 1, shape, generator=generator)).float()


def images_of(x: torch.Tensor) -> torch.Tensor:
    return x.flatten(0, 1).permute(0, 3, 1, 2)


def check(problem: Problem) -> tuple[torch.Tensor, torch.Tensor]:
    """Raises AssertionError unless sums have the bits of float64, and the gradient by the weight is
    as near as one of sums in float32 may be. Returns both."""
    weight, x, window = problem.weight(), problem.input(), (problem.stride, problem.padding)
    found = spikes._packed(x, problem.counts)
    assert found is not None and found.share == pytest.approx(
        float(sum(x.int().bitwise_and(1 << p).count_nonzero() for p in range(2)))
        / x.numel()
        / problem.counts.bit_length()
    )
    first = spikes._packed(channels_first(x).permute(0, 1, 3, 4, 2), problem.counts)
    assert first.share == found.share and torch.equal(first.fields, found.fields), "channels first"
    sums = found.sums(weight, *window)
    exact = weight.double().requires_grad_()
    right = conv2d(images_of(x).double(), exact, None, *window)
    assert torch.equal(images_of(sums), right.float()), "sums differ"
    g = problem.drawn(*sums.shape)
    (by_weight,) = torch.autograd.grad(right, exact, images_of(g).double())
    actual = found.by_weight(g, weight, *window)
    limit = 1e-6 * max(1, math.sqrt(sums[..., 0].numel() / 4096))
    assert (actual - by_weight).norm() <= limit * by_weight.norm(), "gradient by the weight"
    return sums, actual


windows = st.sampled_from(
    [
        {"kernel": (3, 3), "padding": (1, 1)},
        {"kernel": (3, 3), "padding": (1, 1), "stride": (2, 2)},
        {"kernel": (1, 1), "padding": (0, 0)},
        {"kernel": (1, 1), "padding": (0, 0), "stride": (2, 3)},
        {"kernel": (5, 5), "padding": (2, 2)},
        {"kernel": (7, 7), "padding": (3, 3), "stride": (2, 2)},
        {"kernel": (2, 5), "padding": (0, 4), "stride": (1, 3)},
    ]
)
problems = st.builds(
    lambda window, **options: Problem(**window, **options),
    windows,
    steps=st.integers(1, 5),
    batch=st.integers(1, 4),
    channels=st.one_of(st.integers(1, 140), st.sampled_from([8, 16, 32, 64, 128])),
    outputs=st.one_of(st.integers(1, 140), st.sampled_from([16, 32, 64])),
    image=st.tuples(st.integers(2, 12), st.integers(2, 12)),
    rate=st.sampled_from([0.02, 0.15, 0.5, 1.0]),
    counts=st.sampled_from([1, 1, 3]),
    seed=st.integers(0, 99),
)


def fits(problem: Problem) -> bool:
    sides = zip(problem.image, problem.kernel, problem.padding, strict=True)
    return all(side + 2 * padding >= kernel for side, kernel, padding in sides)


@settings(
    derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
@given(problems.filter(fits))
def test_any_sizes_and_windows(problem):
    check(problem)


MANY_PIECES = Problem(steps=7, batch=5, channels=65, outputs=33, image=(17, 16), rate=0.1)


def test_rows_of_several_pieces():
    check(MANY_PIECES)


def test_some_of_the_images():
    problem = Problem(steps=5, batch=4)
    found, weight = spikes._packed(problem.input(), 1), problem.weight()
    part = found.part(slice(1, 4), slice(2, 4)).sums(weight, (1, 1), (1, 1))
    assert torch.equal(part, found.sums(weight, (1, 1), (1, 1))[1:4, 2:4])


@pytest.mark.parametrize("rate", [0.15, 0.6])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, rate):
    monkeypatch.setattr(dense, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(spikes, "PIXELS_OF_A_THREAD", 1)
    problem, before = Problem(steps=5, batch=3, outputs=131, rate=rate), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            spikes._call.cache_clear(), spikes._packing.cache_clear()
            results.append(check(problem))
    finally:
        torch.set_num_threads(before)
        spikes._call.cache_clear(), spikes._packing.cache_clear()
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(other, results[0], strict=True))


# -- choices ---------------------------------------------------------------------------------------


def last(problem: Problem) -> record.Ran:
    return record._ran[problem.channels, problem.outputs]


@pytest.mark.parametrize(
    ("rate", "counts", "product"),
    [
        *((0.02, 1, "event"), (0.15, 1, "event"), (0.5, 1, "table"), (1.0, 1, "table")),
        *((0.2, 3, "event"), (0.2, 4, "dense")),
    ],
)
def test_the_record_names_the_product(monkeypatch, rate, counts, product):
    monkeypatch.setattr(record, "_ran", {})
    problem = Problem(rate=rate, counts=counts)
    found = spikes.spikes_of(problem.input(), problem.weight(), 0)
    assert (found is None) == (product == "dense") and last(problem).product == product
    if counts == 1:
        assert last(problem).share == pytest.approx(float(problem.input().mean()))


def test_counts_with_as_many_additions_as_multiplications_are_convolved_densely(monkeypatch):
    x, weight = torch.full((1, 1, 3, 3, 64), 3.0), torch.ones(4, 64, 3, 3)
    assert spikes.spikes_of(x, weight, 0) is not None
    monkeypatch.setattr(record, "TABLES_FROM", 0.31)
    assert spikes.spikes_of(x, weight, 0) is None


def test_few_channels_and_small_weights_are_convolved_densely(monkeypatch):
    monkeypatch.setattr(record, "_ran", {})
    for problem in (Problem(channels=7, outputs=99), Problem(channels=8, outputs=28)):
        assert spikes.spikes_of(problem.input(), problem.weight(), 1) is None
        assert last(problem).product == "dense"
    problem = Problem(channels=8, outputs=29)
    assert spikes.spikes_of(problem.input(), problem.weight(), 1) is not None


@pytest.mark.parametrize("channels", [16, 37, 64])
@pytest.mark.parametrize("value", [0.5, -1.0, 4.0, 1e9, torch.nan, torch.inf])
def test_a_number_that_is_no_spike_is_found_anywhere(value, channels):
    for place in (0, 5, -1):
        x = Problem(channels=channels).input()
        x.view(-1)[place] = value
        for layout in (x, channels_first(x).permute(0, 1, 3, 4, 2)):
            assert spikes._packed(layout, 1) is None and spikes._packed(layout, 3) is None


# -- modules ---------------------------------------------------------------------------------------


def gradients(layer, x, upstream):
    x = x.detach().requires_grad_()
    layer.zero_grad()
    out = layer(x)
    out.backward(upstream)
    return [out.detach(), x.grad, *(p.grad.clone() for p in layer.parameters())]


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_alone_is_that_of_torch(monkeypatch, stride):
    problem = Problem(counts=3)
    layer = alone.Conv2d(problem.channels, problem.outputs, 3, stride, 1)
    monkeypatch.setattr(record, "_ran", {})
    x = images_of(problem.input())
    actual = gradients(layer, x, problem.drawn(*layer(x).shape))
    assert last(problem).product == "event"
    right = gradients(layer.double(), x.double(), problem.drawn(*layer(x.double()).shape).double())
    assert max(relative(a, b) for a, b in zip(actual, right, strict=True)) <= 1e-6


def test_a_convolution_alone_keeps_bits_and_has_no_second_derivative():
    layer, problem = alone.Conv2d(64, 8, 3, bias=False), Problem(channels=64)
    x = images_of(problem.input()).requires_grad_()
    assert saved_bytes(layer, x) <= x.numel() // 8 + layer.weight.nbytes
    with pytest.raises(RuntimeError, match="no second derivative: a convolution of spikes"):
        torch.autograd.grad(layer(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("frozen", ["weight", "input"])
def test_only_what_needs_a_gradient_gets_one(frozen):
    layer, x = alone.Conv2d(37, 19, 3), images_of(Problem().input()).requires_grad_()
    (layer.weight if frozen == "weight" else x).requires_grad_(False)
    layer(x).sum().backward()
    assert (layer.weight.grad is None) == (frozen == "weight")
    assert (x.grad is None) == (frozen == "input") and layer.bias.grad is not None


def test_the_reference_multiplies_zeros(monkeypatch):
    monkeypatch.setattr(record, "_ran", {})
    layer, x = ConvLIF(37, 19, 3, backend="reference"), Problem().input()
    layer(x.permute(0, 1, 4, 2, 3))
    assert not record._ran


# -- other processors, planted faults --------------------------------------------------------------


def test_other_instruction_sets_give_the_same_bits(compile_for_other_processor):
    several = [
        Problem(outputs=outputs, rate=rate, counts=counts)
        for outputs in (10, 30, 70)
        for rate, counts in ((0.1, 1), (0.6, 1), (0.2, 3))
    ]
    native = [check(problem) for problem in several]
    compile_for_other_processor()
    for problem, right in zip(several, native, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(check(problem), right, strict=True))


FAULTS = {
    "the first pixel of a line is left out": ("parts(-left, stride) : 0", "parts(-left, stride) + 1 : 0"),
    "the last pixel of a line is left out": ("(w.image[1] - 1 - left) / stride + 1", "(w.image[1] - 1 - left) / stride"),
    "a field is cut at the end of a word": ("if (!two) continue;", "continue;"),
    "a later piece replaces the gradient": ("piece.given = row > 0;", "piece.given = 0;"),
    "channels of a square are not turned": ("transpose_bits(squares[plane]);", ";"),
    "every piece begins at the first row": ("fill_words(n, window, from, row,", "fill_words(n, window, from, 0,"),
}  # fmt: skip


@pytest.mark.parametrize("fault", representatives(FAULTS, [2]))
def test_planted_faults_are_seen(plant, compiled_anew, fault):
    check(MANY_PIECES)
    forget()
    plant(cpp, *FAULTS[fault], "windows.cpp")
    with pytest.raises(AssertionError, match=r"sums differ|gradient by the weight|channels first"):
        check(MANY_PIECES)


def test_memory_that_is_refused_is_an_error_that_python_sees(plant, compiled_anew):
    plant(cpp, "if (!memory.start)", "if (true)", "windows.cpp")
    with pytest.raises(MemoryError, match="refused its working memory"):
        check(Problem())
