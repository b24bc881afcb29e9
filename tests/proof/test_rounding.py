"""Rounding to short formats against torch's own casts, and the properties of the one torch has
no type for."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from snnbench.proof.rounding import random_arithmetic, round_to

TYPES = {"bf16": torch.bfloat16, "amp-bf16": torch.bfloat16, "fp16": torch.float16}
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.4028235e38, -3.4028235e38], dtype=np.float32
)
SPECIAL = np.append(
    SPECIAL, np.array([1e-45, -1e-45, 1.1754944e-38, 6e-8, 65519, 65520], dtype=np.float32)
)
bits = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200).map(
    lambda b: np.array(b, np.uint32).view(np.float32)
)


def quietly(array, precision):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter(
            "ignore"
        )  # NumPy warns of overflow to infinity, which is what is asked for
        return round_to(array, precision)


def assert_same_numbers(got, expected):
    np.testing.assert_array_equal(got, expected)  # NaN equals NaN here
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(array=bits, precision=st.sampled_from(list(TYPES)))
def test_any_bits_round_as_torch_rounds_them(array, precision):
    assert_same_numbers(
        quietly(array, precision), torch.tensor(array).to(TYPES[precision]).float().numpy()
    )


@pytest.mark.parametrize("precision", TYPES)
def test_special_numbers_round_as_torch_rounds_them(precision):
    assert_same_numbers(
        quietly(SPECIAL, precision), torch.tensor(SPECIAL).to(TYPES[precision]).float().numpy()
    )


@pytest.mark.parametrize(("precision", "dropped"), [("tf32", 13), ("bf16", 16), ("fp16", 13)])
def test_ties_go_to_the_even_neighbour(precision, dropped):
    unit = 2.0 ** (dropped - 23)
    halves = np.array(
        [1 + 0.5 * unit, 1 + 1.5 * unit, 1 + 2.5 * unit, -1 - 0.5 * unit], dtype=np.float32
    )
    assert round_to(halves, precision).tolist() == [1, 1 + 2 * unit, 1 + 2 * unit, -1]
    above = np.nextafter(halves[:1], np.float32(2))
    assert round_to(above, precision).tolist() == [1 + unit]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(array=bits)
def test_tf32_is_the_nearest_number_with_ten_mantissa_bits(array):
    rounded = quietly(array, "tf32")
    assert_same_numbers(quietly(rounded, "tf32"), rounded)
    assert_same_numbers(quietly(-array, "tf32"), -rounded)
    finite = np.isfinite(rounded)
    assert not (rounded[finite].view(np.uint32) & 0x1FFF).any()
    exponent = np.maximum(np.frexp(array[finite].astype(np.float64))[1] - 1, -126)
    error = np.abs(rounded[finite].astype(np.float64) - array[finite])
    assert (error <= 2.0 ** (exponent - 11)).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(array=bits, precision=st.sampled_from(["tf32", "bf16", "fp16"]))
def test_rounding_keeps_the_order(array, precision):
    ordered = np.sort(array[~np.isnan(array)])
    rounded = quietly(ordered, precision)
    assert (rounded[1:] >= rounded[:-1]).all()


def test_fp32_is_left_alone_and_infinity_and_nan_stay():
    assert_same_numbers(round_to(SPECIAL, "fp32"), SPECIAL)
    assert_same_numbers(round_to(SPECIAL[4:7], "tf32"), SPECIAL[4:7])


def test_the_argument_is_not_written_to_and_need_not_be_contiguous():
    array = np.full((4, 6), 1.0001, dtype=np.float32)
    assert_same_numbers(round_to(array[:, ::2], "bf16"), np.ones((4, 3), np.float32))
    assert (array == np.float32(1.0001)).all()


@pytest.mark.parametrize("precision", TYPES)
def test_random_rounding_gives_a_neighbour_the_nearer_the_likelier(precision):
    arithmetic = random_arithmetic(np.random.default_rng(1), precision)
    unit = 2.0 ** -{"fp16": 10}.get(precision, 7)
    array = np.full(4001, -4 * (1 + 0.25 * unit), np.float32)
    rounded = arithmetic.array(array) / -4
    assert set(rounded.tolist()) == {1.0, 1 + unit}
    assert (rounded > 1).mean() == pytest.approx(0.25, abs=0.03)
    exact = round_to(np.random.default_rng(2).standard_normal(99).astype(np.float32), precision)
    assert_same_numbers(arithmetic.array(exact), exact)


def test_random_rounding_knows_the_subnormal_numbers_of_fp16():
    arithmetic = random_arithmetic(np.random.default_rng(1), "fp16")
    tiny = np.full(4001, 2.0**-26, np.float32)
    assert set(arithmetic.array(tiny).tolist()) == {0.0, 2.0**-24}
    assert arithmetic.array(tiny).mean() == pytest.approx(2.0**-26, rel=0.2)


def test_a_number_is_known_as_it_is_or_rounded_or_between():
    arithmetic = random_arithmetic(np.random.default_rng(1), "bf16")
    numbers = [arithmetic.number(0.99) for _ in range(99)]
    assert min(numbers) >= 0.98828125 and max(numbers) <= 0.99 and len(set(numbers)) == 99
    assert arithmetic.number(0.9375) == 0.9375
