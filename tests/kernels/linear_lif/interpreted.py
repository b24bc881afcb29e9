"""The spike product in Triton's interpreter: tests/kernels/test_interpreted.py runs this file.

Only fp16: the interpreter multiplies the bit patterns of bfloat16.
"""

from itertools import product

import pytest
import torch
from support import tensor_core
from support.tensor_core import joined

from snnbench.kernels.linear_lif import triton_gemm
from snnbench.kernels.linear_lif.split_formats import TIERS, Split

pytestmark = pytest.mark.slow

SIZES = [(111, 97, 33), (130, 64, 129), (1, 1, 1)]


@pytest.mark.parametrize(
    ("tier", "size"),
    product(["fp32-pair", "tf32", "three"], SIZES),
    ids=str,
)
def test_it_is_the_product_of_the_parts(tier, size):
    rows, inner, columns = size
    spikes, weight = (
        tensor_core.spikes(rows, inner, counts=3),
        tensor_core.matrix("heavy", columns, inner),
    )
    if tier == "three":
        split = Split(
            tuple((weight * factor).half() for factor in (1, 2, 3)), (1.0, 2.0**-5, 2.0**-10)
        )
    else:
        split = TIERS[tier].split(weight)
    actual = triton_gemm.spike_product(spikes.half(), split)
    exact = spikes.double() @ joined(split).t()
    assert ((actual - exact).abs() <= 2.0**-20 * (spikes.double() @ joined(split).abs().t())).all()


def test_types_that_do_not_fit_are_refused():
    with pytest.raises(
        TypeError, match=r"spikes of torch.float32 do not fit parts of torch.float16"
    ):
        triton_gemm.spike_product(torch.zeros(3, 5), TIERS["fp32-pair"].split(torch.zeros(2, 5)))


def test_no_rows():
    assert triton_gemm.spike_product(
        torch.zeros(0, 5).half(), TIERS["fp32-pair"].split(torch.zeros(2, 5))
    ).shape == (0, 2)
