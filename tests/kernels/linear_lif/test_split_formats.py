"""Float32 weights as short operands: each within its documented bound, whatever the weights are."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support import tensor_core
from support.tensor_core import joined

from snnbench.kernels.linear_lif.split_formats import FORMATS, LARGEST_BF16, row_scale


def error_over_bound(name: str, matrix: torch.Tensor) -> float:
    form = FORMATS[name]
    return float(((joined(form.split(matrix)) - matrix.double()).abs() / form.error_bound(matrix)).max())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", tensor_core.KINDS)
def test_a_split_is_within_its_bound(name, kind):
    matrix = tensor_core.matrix(kind, 97, 613)
    split = FORMATS[name].split(matrix)
    assert all(part.dtype == FORMATS[name].dtype and part.shape == matrix.shape for part in split.parts)
    assert error_over_bound(name, matrix) <= 1
    if name == "bf16-triple":
        assert torch.equal(joined(split), matrix.double())


@pytest.mark.parametrize("name", ["fp16-pair", "fp16-single", "bf16-single"])
def test_the_bound_is_not_loose(name):
    assert error_over_bound(name, tensor_core.matrix("normal", 97, 613)) > 0.9


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=40), st.sampled_from(sorted(FORMATS)))
def test_any_finite_row_is_within_the_bound(row, name):
    assert error_over_bound(name, torch.tensor([row])) <= 1


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("largest", [2.0**-149, 2.0**-126, 1e-30, 2.0**-51, 2.0**-50, 1e-6, 1.0, 1e6, torch.finfo().max])
def test_rows_of_every_scale(name, largest):
    matrix = largest * torch.tensor([[1.0, -0.7, 1e-3, 1e-9, 0.0], [0.0] * 5])
    split = FORMATS[name].split(matrix)
    assert error_over_bound(name, matrix) <= 1
    assert all(part.isfinite().all() for part in split.parts) and not any(part[1].any() for part in split.parts)


def test_the_scale_is_a_power_of_two_below_the_range_of_fp16():
    matrix = torch.cat([tensor_core.matrix("heavy", 50, 7), torch.zeros(1, 7), torch.full((1, 7), 1e-30)])
    scale = row_scale(matrix)
    assert (torch.frexp(scale).mantissa == 0.5).all()
    largest = (matrix.abs().amax(1) * scale)[:50]
    assert (largest >= 2**13).all() and (largest < 2**14).all()
    assert scale[50] == 1 and scale[51] == 2.0**64


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_what_is_not_finite_stays_alone(name, bad):
    clean = tensor_core.matrix("normal", 3, 7)
    matrix = clean.clone()
    matrix[1, 2] = bad
    first, *others = (part.float() for part in FORMATS[name].split(matrix).parts)
    assert first[1, 2].isnan() if bad != bad else first[1, 2] == bad
    assert all(other[1, 2] == 0 for other in others)
    actual, expected = joined(FORMATS[name].split(matrix)), joined(FORMATS[name].split(clean))
    assert torch.equal(actual[[0, 2]], expected[[0, 2]])
    actual[1, 2] = clean[1, 2]
    assert (actual - clean).abs().max() <= 2.0**-8 * clean.abs().max()


def test_the_largest_numbers_do_not_become_infinite():
    matrix = torch.tensor([[torch.finfo().max, -torch.finfo().max, LARGEST_BF16]])
    assert torch.equal(joined(FORMATS["bf16-triple"].split(matrix)), matrix.double())
    assert error_over_bound("bf16-single", matrix) <= 1


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
@pytest.mark.parametrize("name", FORMATS)
def test_empty(name, shape):
    assert joined(FORMATS[name].split(torch.zeros(shape))).shape == shape


@pytest.mark.parametrize("name", FORMATS)
def test_counts_are_exact_up_to_the_largest_and_not_beyond(name):
    form = FORMATS[name]
    counts = torch.arange(form.largest_count + 2.0)
    short = counts.to(form.dtype).float()
    assert torch.equal(short[:-1], counts[:-1]) and short[-1] != counts[-1]
