"""Float32 weights as short operands: each within its documented bound, whatever the weights are."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support import tensor_core
from support.tensor_core import joined

from snnbench.kernels.linear_lif.split_formats import LARGEST_BF16, TIERS, row_scale


def error_over_bound(tier: str, matrix: torch.Tensor) -> float:
    bound = TIERS[tier].relative * matrix.double().abs() + tensor_core.subnormal_bound(tier, matrix)
    return float(((joined(TIERS[tier].split(matrix)) - matrix.double()).abs() / bound).max())


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", tensor_core.KINDS)
def test_a_split_is_within_its_bound(tier, kind):
    matrix = tensor_core.matrix(kind, 97, 613)
    split = TIERS[tier].split(matrix)
    assert all(
        part.dtype == TIERS[tier].dtype and part.shape == matrix.shape for part in split.parts
    )
    assert error_over_bound(tier, matrix) <= 1
    if tier == "fp32":
        assert torch.equal(joined(split), matrix.double())


@pytest.mark.parametrize("tier", ["fp32-pair", "tf32", "bf16"])
def test_the_bound_is_not_loose(tier):
    assert error_over_bound(tier, tensor_core.matrix("normal", 97, 613)) > 0.9


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=40), st.sampled_from(sorted(TIERS)))
def test_any_finite_row_is_within_the_bound(row, tier):
    assert error_over_bound(tier, torch.tensor([row])) <= 1


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "largest", [2.0**-149, 2.0**-126, 1e-30, 2.0**-51, 2.0**-50, 1e-6, 1.0, 1e6, torch.finfo().max]
)
def test_rows_of_every_scale(tier, largest):
    matrix = largest * torch.tensor([[1.0, -0.7, 1e-3, 1e-9, 0.0], [0.0] * 5])
    split = TIERS[tier].split(matrix)
    assert error_over_bound(tier, matrix) <= 1
    assert all(part.isfinite().all() for part in split.parts) and not any(
        part[1].any() for part in split.parts
    )


def test_the_scale_is_a_power_of_two_below_the_range_of_fp16():
    matrix = torch.cat(
        [tensor_core.matrix("heavy", 50, 7), torch.zeros(1, 7), torch.full((1, 7), 1e-30)]
    )
    scale = row_scale(matrix)
    assert (torch.frexp(scale).mantissa == 0.5).all()
    largest = (matrix.abs().amax(1) * scale)[:50]
    assert (largest >= 2**13).all() and (largest < 2**14).all()
    assert scale[50] == 1 and scale[51] == 2.0**64


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_what_is_not_finite_stays_alone(tier, bad):
    clean = tensor_core.matrix("normal", 3, 7)
    matrix = clean.clone()
    matrix[1, 2] = bad
    first, *others = (part.float() for part in TIERS[tier].split(matrix).parts)
    assert first[1, 2].isnan() if bad != bad else first[1, 2] == bad
    assert all(other[1, 2] == 0 for other in others)
    actual, expected = joined(TIERS[tier].split(matrix)), joined(TIERS[tier].split(clean))
    assert torch.equal(actual[[0, 2]], expected[[0, 2]])
    actual[1, 2] = clean[1, 2]
    assert (actual - clean).abs().max() <= 2.0**-8 * clean.abs().max()


def test_the_largest_numbers_do_not_become_infinite():
    matrix = torch.tensor([[torch.finfo().max, -torch.finfo().max, LARGEST_BF16]])
    assert torch.equal(joined(TIERS["fp32"].split(matrix)), matrix.double())
    assert error_over_bound("bf16", matrix) <= 1


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
@pytest.mark.parametrize("tier", TIERS)
def test_empty(tier, shape):
    assert joined(TIERS[tier].split(torch.zeros(shape))).shape == shape


@pytest.mark.parametrize("tier", TIERS)
def test_counts_are_exact_up_to_the_largest_and_not_beyond(tier):
    form = TIERS[tier]
    counts = torch.arange(form.largest_count + 2.0)
    short = counts.to(form.dtype).float()
    assert torch.equal(short[:-1], counts[:-1]) and short[-1] != counts[-1]
