"""Statistics of channels and what follows from them: compiled for CPUs, and by torch's own
operations."""

import pytest
import torch
from support.slow import representatives

from snnbench.kernels.batch_norm_lif import compiled, statistics

SHAPES = [
    (37, 3, 11),
    (40, 2, 1),
    (5, 3, 33),
    (5, 3, 7, 4, 5),
    (1, 1, 7, 2),
    (2, 3, 18, 700),
    (4, 1, 3, 2, 3, 5),
]


def input_of(shape, mean=3.0, dtype=torch.float32):
    return (mean + 2 * torch.randn(*shape, generator=torch.Generator().manual_seed(0))).to(dtype)


def relative(actual, expected):
    return ((actual.double() - expected.double()).norm() / expected.double().norm()).item()


@pytest.mark.parametrize("center", [3.0, 303.0])
@pytest.mark.parametrize(
    "dtype", representatives([torch.float16, torch.bfloat16, torch.float32, torch.float64], [1, 2])
)
@pytest.mark.parametrize("way", [compiled, statistics], ids=["compiled", "torch"])
def test_statistics_are_those_of_the_widened_numbers(way, dtype, center, monkeypatch):
    monkeypatch.setattr(statistics, "PIECE", 300)
    for shape in SHAPES:
        x = input_of(shape, center, dtype)
        if way is compiled and not compiled.takes(x, 2):
            assert dtype == torch.float64
            continue
        others = [d for d in range(x.dim()) if d != 2]
        mean, variance = way.statistics(x, 2)
        assert (
            mean.dtype
            == variance.dtype
            == (torch.float64 if dtype == torch.float64 else torch.float32)
        )
        assert relative(mean, x.double().mean(others)) <= 1e-6
        assert relative(variance, x.double().var(others, correction=0)) <= 1e-6


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_ways_give_the_same_rows_and_gradients(shape, affine):
    x, generator = input_of(shape), torch.Generator().manual_seed(1)
    parameters = torch.randn(2, shape[2], generator=generator).unbind() if affine else (None, None)
    mean, variance = torch.randn(2, shape[2], generator=generator).abs().unbind()
    errors, by_current = torch.randn(2, *shape[1:], generator=generator).unbind()
    ours, expected = (
        way.rows(x, 2, mean, variance, *parameters, 1e-5) for way in (compiled, statistics)
    )
    assert all(
        torch.equal(a, b) and a.shape == shape[1:] for a, b in zip(ours, expected, strict=True)
    )
    given = (x, 2, errors, by_current, variance, parameters[0], 1e-5)
    for needed in (True, False):
        ours, expected = (way.gradients(*given, needed) for way in (compiled, statistics))
        for a, b in zip(ours, expected, strict=True):
            assert a is b is None or (a.shape == b.shape and relative(a, b) <= 1e-6)
        assert (ours[2] is None) == (not needed)


def test_statistics_do_not_depend_on_the_number_of_threads():
    x = input_of((9, 4, 37, 120))
    before = torch.get_num_threads()
    try:
        found = [
            (torch.set_num_threads(threads), compiled.statistics(x, 2))[1] for threads in (1, 2, 3)
        ]
    finally:
        torch.set_num_threads(before)
    assert all(
        torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True)
    )


def test_what_the_compiled_functions_do_not_take():
    x = input_of((5, 3, 4, 6))
    assert compiled.takes(x, 2) and compiled.takes(x, -2)
    for other, channel_dim in (
        (x, 3),
        (x, -1),
        (x.transpose(0, 1), 2),
        (x.double(), 2),
        (x[:0], 2),
        (x[0, 0], 1),
    ):
        assert not compiled.takes(other, channel_dim)
