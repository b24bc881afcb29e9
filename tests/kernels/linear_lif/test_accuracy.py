"""The products of a linear layer from short operands, on a model of tensor cores, compared with
float64.

Every element must be within its tier's bound, and the fp32 tiers over all elements no worse than a
sequential float32 sum.
"""

from functools import lru_cache
from types import SimpleNamespace

import pytest
import torch
from support import tensor_core
from support.slow import representatives
from support.tensor_core import joined

from snnbench.kernels import NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.kernels.linear_lif import matmul, split_products
from snnbench.kernels.linear_lif.matmul import operands_of
from snnbench.kernels.linear_lif.split_formats import TIERS, Split
from snnbench.kernels.linear_lif.split_products import PROMOTED, product

TIMES, BATCH, NEURONS = 37, 3, 97


def rms(values: torch.Tensor) -> float:
    return float(values.double().square().mean().sqrt())


def as_spikes(tier: str, spikes: torch.Tensor) -> Split:
    return Split((spikes.to(TIERS[tier].dtype),))


def bound(tier: str, left, right, taken, promoted=None, left_split=True):
    """The error bound of every element of left @ rightᵀ, for float32 left and right."""
    terms = left.double().abs() @ right.double().abs().t()
    floor = left.double().abs() @ tensor_core.subnormal_bound(tier, right).expand_as(right).t()
    if left_split:
        floor = (
            floor
            + tensor_core.subnormal_bound(tier, left).expand_as(left) @ right.double().abs().t()
        )
    relative = (
        tensor_core.relative_bound(tier, left_split, True)
        + tensor_core.additions(left.shape[1], taken, promoted) * 2.0**-23
    )
    return relative * terms + 2 * floor


def no_worse(tier: str, kind: str) -> bool:
    """Whether the tier claims to have no larger error than sequential float32."""
    return tier == "fp32" or (tier == "fp32-pair" and kind != "cancelling")


@lru_cache
def forward_problem(kind, inputs):
    spikes = tensor_core.spikes(TIMES * BATCH, inputs, paired=kind == "cancelling")
    return spikes, tensor_core.matrix(kind, NEURONS, inputs)


@lru_cache
def forward_errors(kind, inputs, tier):
    """Currents, exact currents, and those of a sequential float32 sum."""
    spikes, weight = forward_problem(kind, inputs)
    exact = spikes.double() @ weight.double().t()
    actual = product(
        as_spikes(tier, spikes), TIERS[tier].split(weight), PROMOTED, tensor_core.multiply
    )
    return actual, exact, tensor_core.sequential(spikes, weight.t())


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", tensor_core.KINDS)
@pytest.mark.parametrize("inputs", representatives([97, 512, 4096], [0]))
def test_currents(tier, kind, inputs):
    spikes, weight = forward_problem(kind, inputs)
    actual, exact, plain = forward_errors(kind, inputs, tier)
    taken = len(TIERS[tier].split(weight).parts)
    assert (
        (actual - exact).abs() <= bound(tier, spikes, weight, taken, PROMOTED, left_split=False)
    ).all()
    if no_worse(tier, kind):
        assert rms(actual - exact) <= rms(plain - exact)


def mismatches(currents, exact) -> int:
    """Spikes that differ from those of float64; the threshold is as large as typical currents."""
    spec = NeuronSpec("hard", detach_reset=True, decay=0.9, threshold=rms(exact) or 1.0)
    shape = (TIMES, BATCH, NEURONS)
    actual = lif(currents.view(shape), spec, backend="reference").spikes
    expected = lif(exact.view(shape), spec, backend="reference").spikes
    assert 0.01 < expected.mean() < 0.6
    return int((actual.double() != expected).sum())


@pytest.mark.slow
def test_spikes_of_the_fp32_tier_differ_from_float64_no_more_often_than_sequential_float32():
    cases = [(kind, inputs) for kind in tensor_core.KINDS for inputs in (512, 4096)]
    actual = {
        tier: sum(mismatches(*forward_errors(*case, tier)[:2]) for case in cases) for tier in TIERS
    }
    plain = sum(
        mismatches(forward_errors(*case, "fp32")[2], forward_errors(*case, "fp32")[1])
        for case in cases
    )
    assert actual["fp32"] <= plain and actual["fp32-pair"] - actual["fp32"] < actual["tf32"] / 10
    assert actual["fp32"] < actual["tf32"] < actual["bf16"]


def test_where_weights_cancel_the_pair_lacks_a_bit():
    actual, exact, plain = forward_errors("cancelling", 512, "fp32-pair")
    assert rms(plain - exact) < rms(actual - exact) < 1e-2 * rms(exact)


EXACT_COUNTS = [
    (tier, counts)
    for tier in TIERS
    for counts in (2, 255, 2048)
    if counts <= TIERS[tier].largest_count
]


@pytest.mark.parametrize(("tier", "counts"), EXACT_COUNTS)
def test_counts_of_spikes(tier, counts):
    spikes, weight = (
        tensor_core.spikes(20, 512, counts=counts),
        tensor_core.matrix("normal", 33, 512),
    )
    actual = product(
        as_spikes(tier, spikes), TIERS[tier].split(weight), multiply=tensor_core.multiply
    )
    exact = spikes.double() @ weight.double().t()
    assert ((actual - exact).abs() <= bound(tier, spikes, weight, 3, left_split=False)).all()


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", tensor_core.KINDS)
@pytest.mark.parametrize("rows", representatives([111, 3000], [0]))
def test_gradient_by_weight(tier, kind, rows):
    """The transposed gradient is split in rows, with one scale for each neuron."""
    gradient, spikes = (
        tensor_core.matrix(kind, 33, rows),
        tensor_core.spikes(rows, 29, paired=False).t().contiguous(),
    )
    split = TIERS[tier].split(gradient)
    actual = product(split, as_spikes(tier, spikes), PROMOTED, tensor_core.multiply)
    exact = gradient.double() @ spikes.double().t()
    limit = bound(tier, spikes, gradient, len(split.parts), PROMOTED, left_split=False).t()
    assert ((actual - exact).abs() <= limit).all()
    if no_worse(tier, kind):
        assert rms(actual - exact) <= rms(tensor_core.sequential(gradient, spikes.t()) - exact)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", tensor_core.KINDS)
@pytest.mark.parametrize("neurons", representatives([97, 4096], [0]))
def test_dense_products(tier, kind, neurons):
    """Both operands are split, as for the gradient by input and for dense inputs."""
    left, right = (
        tensor_core.matrix("heavy", 40, neurons, seed=3),
        tensor_core.matrix(kind, 31, neurons),
    )
    splits = TIERS[tier].split(left), TIERS[tier].split(right)
    taken = {"fp32": 6, "fp32-pair": 3}.get(tier, 1)
    actual = product(*splits, multiply=tensor_core.multiply)
    exact = left.double() @ right.double().t()
    assert ((actual - exact).abs() <= bound(tier, left, right, taken)).all()


def test_dense_products_of_pairs_are_no_substitute_for_float32_unless_sums_leave_the_accumulator_often():
    left, right = (
        tensor_core.matrix("normal", 40, 4096, seed=3),
        tensor_core.matrix("normal", 31, 4096),
    )
    splits, exact = (
        (TIERS["fp32-pair"].split(left), TIERS["fp32-pair"].split(right)),
        left.double() @ right.double().t(),
    )
    plain = rms(tensor_core.sequential(left, right.t()) - exact)
    assert rms(product(*splits, multiply=tensor_core.multiply) - exact) > 4 * plain
    assert rms(product(*splits, 128, tensor_core.multiply) - exact) < plain / 2


def test_the_model_truncates_and_finds_an_operand_that_is_missing():
    weight = torch.zeros(32, 1)
    weight[0], weight[16] = 1, 1.5 * 2.0**-24
    tensor_core.multiply(torch.ones(1, 32), weight, truncated := torch.empty(1, 1), 0.0)
    assert weight.sum() > truncated == 1
    spikes, weight = forward_problem("normal", 512)
    split = TIERS["fp32"].split(weight)
    without_the_least = Split(split.parts[:2], split.factors[:2])
    _, exact, plain = forward_errors("normal", 512, "fp32")
    actual = product(as_spikes("fp32", spikes), without_the_least, multiply=tensor_core.multiply)
    assert rms(actual - exact) > 4 * rms(plain - exact)
    high = Split(split.parts[:1], split.factors[:1])
    actual = product(as_spikes("fp32", spikes), high, multiply=tensor_core.multiply)
    assert not ((actual - exact).abs() <= bound("fp32", spikes, weight, 3, left_split=False)).all()


@pytest.mark.parametrize("tier", TIERS)
def test_products_are_those_of_the_operands(tier):
    """On a CPU the library multiplies the numbers that the parts represent."""
    left, right = (
        TIERS[tier].split(tensor_core.matrix("normal", 5, 70)),
        TIERS[tier].split(tensor_core.matrix("heavy", 7, 70)),
    )
    assert torch.allclose(
        product(left, right).double(), joined(left) @ joined(right).t(), rtol=1e-4, atol=1e-4
    )


def test_empty_products():
    empty = Split((torch.zeros(3, 0).half(),)), Split((torch.zeros(2, 0).half(),))
    assert torch.equal(product(*empty), torch.zeros(3, 2))


def test_products_on_cuda_are_written_and_added_where_the_sum_lies(monkeypatch):
    """With a device that is only named: torch has the overloads, and the sum is never copied."""
    assert torch.ops.aten.mm.dtype_out and torch.ops.aten.addmm.dtype_out
    given = []
    for name in ("mm", "addmm"):
        monkeypatch.setattr(
            torch,
            name,
            lambda *tensors, name=name, **options: given.append((name, tensors, options)),
        )
    left = SimpleNamespace(device=torch.device("cuda"))
    for keep in (0.0, 2.0):
        split_products.multiply(left, "right", "sum", keep)
    assert given == [
        ("mm", (left, "right"), {"out_dtype": torch.float32, "out": "sum"}),
        ("addmm", ("sum", left, "right"), {"beta": 2.0, "out_dtype": torch.float32, "out": "sum"}),
    ]


@pytest.mark.parametrize("tier", ["fp32", "fp32-pair", "tf32"])
@pytest.mark.parametrize("inputs", [97, 5000])
def test_sums_are_made_in_the_caller_s_memory_of_which_nothing_is_read(tier, inputs, monkeypatch):
    """The first product overwrites, also where sums leave the accumulator."""
    weight, x = tensor_core.matrix("normal", 31, inputs), tensor_core.spikes(41, inputs)
    operands, out = operands_of(weight, tier, 1), torch.full((41, 31), torch.nan)
    given = []
    monkeypatch.setattr(
        matmul,
        "scaled_product",
        lambda *a, out=None, **k: (
            given.append(out) or split_products.scaled_product(*a, out=out, **k)
        ),
    )
    operands.currents(x.to(operands.dtype), out)
    assert given[0] is out
    wanted = (
        x.double()
        @ weight.double().t()
        * (1 if operands.scale is None else 1 / operands.scale.double())
    )
    assert rms(out - wanted) <= TIERS[tier].relative * rms(wanted) + 1e-5 * rms(wanted)
    by_weight = torch.full_like(weight, torch.nan)
    gradient = tensor_core.matrix("normal", 41, 31)
    operands.add_weight(by_weight, gradient, x.to(operands.dtype), first=True)
    once = by_weight.clone()
    operands.add_weight(by_weight, gradient, x.to(operands.dtype), first=False)
    assert torch.equal(by_weight, 2 * once) and once.isfinite().all()
