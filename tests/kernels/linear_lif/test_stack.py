"""Stacks of LinearLIF: the tensors between layers, and the results of the whole network."""

import copy
from itertools import pairwise

import pytest
import torch
from support.linear_layers import (
    BATCH,
    INPUTS,
    TIMES,
    empty_cache,  # noqa: F401 a fixture of every test
    relative,
    spikes_in,
)
from support.slow import representatives

from snnbench.kernels import LinearLIF, NeuronSpec
from snnbench.kernels.linear_lif import fused, operator, passes, recompute
from snnbench.kernels.linear_lif.split_formats import TIERS

SIZES = (INPUTS, 33, 29, 7)


def stack(**options):
    torch.manual_seed(3)
    made = LinearLIF.stack(SIZES, input="spikes", **options)
    with torch.no_grad():
        for layer in made:
            layer.linear.weight.mul_(4)
    return made


def gradients(module, x):
    """Gradients of every weight and bias, first layer first, in float64."""
    spikes = module(x)
    spikes.backward(
        torch.randn(TIMES, BATCH, SIZES[-1], generator=torch.Generator().manual_seed(2)).to(
            spikes.dtype
        )
    )
    return [p.grad.double() for p in module.parameters()]


@pytest.fixture
def multiplied(monkeypatch):
    """For each forward pass (type of the input spikes, type of the operands that are
    multiplied)."""
    seen = []

    def noted(real):
        def forward(options, x, weight, bias):
            seen.append(
                (x.dtype, passes.operands_of(weight, options.operands, options.counts).dtype)
            )
            return real(options, x, weight, bias)

        return forward

    def planned(plan, x, weight, *more):
        seen.append((x.dtype, weight.dtype))
        return real(plan, x, weight, *more)

    real = fused.CallPlan.forward
    monkeypatch.setattr(passes, "forward", noted(passes.forward))
    monkeypatch.setattr(fused.CallPlan, "forward", planned)
    return seen


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("counts", representatives([1, 3], [1]))
@pytest.mark.parametrize("tier", TIERS)
def test_spikes_lie_in_memory_as_the_next_product_reads_them(multiplied, tier, counts, recompute):
    module = stack(tier=tier, emulate=True, recompute=recompute, spec=NeuronSpec(max_spikes=counts))
    module(spikes_in())
    short = TIERS[tier].dtype
    assert multiplied == [(torch.float32, short), (short, short), (short, short)]


def test_a_count_that_short_operands_do_not_hold_stays_in_float32(multiplied):
    stack(tier="fp32", emulate=True, spec=NeuronSpec(max_spikes=257))(spikes_in())
    assert [given for given, _ in multiplied] == [torch.float32] * 3


@pytest.mark.parametrize(
    ("dtype", "given"), [(torch.bfloat16, torch.bfloat16), (torch.float32, torch.float32)]
)
def test_without_a_tier_spikes_have_the_type_of_the_weights(multiplied, dtype, given):
    stack().to(dtype)(spikes_in().to(dtype))
    assert multiplied == [(given, given)] * 3
    multiplied.clear()
    with torch.autocast("cpu", torch.bfloat16):
        stack(tier="fp32", emulate=True)(spikes_in())
    assert multiplied == [(torch.bfloat16, torch.bfloat16)] * 3


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("tier", [None, "fp32", "fp32-pair"])
def test_it_is_the_network_of_float64(tier, recompute):
    module = stack(tier=tier, emulate=tier is not None, recompute=recompute)
    exact = copy.deepcopy(module).double()
    assert torch.equal(module(spikes_in()).double(), exact(spikes_in().double()))
    for actual, expected in zip(
        gradients(module, spikes_in()), gradients(exact, spikes_in().double()), strict=True
    ):
        assert relative(actual, expected) <= 5e-6


def test_gradients_rounded_to_the_type_of_short_spikes_would_be_seen(monkeypatch):
    """torch rounds them unless the function declares their type."""
    exact = gradients(stack().double(), spikes_in().double())
    monkeypatch.setattr(operator, "set_gradient_type", lambda *_: None)
    actual = gradients(stack(tier="fp32", emulate=True), spikes_in())
    assert relative(actual[0], exact[0]) > 1e-4


def test_where_torch_would_round_gradients_spikes_are_not_short(monkeypatch, multiplied):
    from snnbench.kernels.linear_lif import functional

    monkeypatch.setattr(functional, "GRADIENT_TYPES_ARE_FREE", False)
    stack(tier="tf32", emulate=True)(spikes_in())
    assert [given for given, _ in multiplied] == [torch.float32] * 3


@pytest.mark.parametrize("tier", [None, "fp32"])
def test_compiled_it_is_the_same(tier):
    torch._dynamo.reset()
    plain = gradients(stack(tier=tier, emulate=tier is not None), spikes_in())
    compiled = stack(tier=tier, emulate=tier is not None)
    for expected, actual in zip(
        plain, gradients(torch.compile(compiled, fullgraph=True), spikes_in()), strict=True
    ):
        assert relative(actual, expected) <= 5e-6


def test_hidden_spikes_are_kept_in_bits(monkeypatch):
    saved = []
    real = recompute.forward
    monkeypatch.setattr(
        recompute,
        "forward",
        lambda *given: (results := real(*given), saved.append(results[1].packed))[0],
    )
    stack(recompute=True)(spikes_in())
    assert [packed.shape[-1] for packed in saved] == [-(-inputs // 8) for inputs in SIZES[:-1]]
    assert all(packed.dtype == torch.uint8 for packed in saved)


def test_layers_hand_on_their_spikes_in_words(monkeypatch):
    packed, made = [], stack()
    alone = torch.nn.Sequential(*(LinearLIF.of(layer.linear, input="spikes") for layer in made))
    expected = [made(spikes_in()), *gradients(alone, spikes_in())]
    real = fused.CallPlan.forward
    monkeypatch.setattr(
        fused.CallPlan,
        "forward",
        lambda *given: (packed.append(given[4] is not None), real(*given))[1],
    )
    made.zero_grad()
    actual = [made(spikes_in()), *gradients(made, spikes_in())]
    assert packed == [False, True, True] * 2
    assert all(torch.equal(a, b) for a, b in zip(actual, expected, strict=True))
    monkeypatch.setattr(
        fused.CallPlan,
        "forward",
        lambda *given: real(*given[:4], None if given[4] is None else given[4] * 0, given[5]),
    )
    assert not torch.equal(made(spikes_in()), expected[0])


def test_words_of_spikes_that_were_written_to_are_not_read():
    made = stack()
    between = made[0](spikes_in())
    right = made[1](between.clone().zero_())
    with torch.no_grad():
        between.zero_()
    assert torch.equal(made[1](between), right)


def test_it_takes_the_state_of_a_stack_of_linear_layers_and_its_own():
    torch.manual_seed(5)
    linear = torch.nn.Sequential(*(torch.nn.Linear(a, b) for a, b in pairwise(SIZES)))
    loaded, again = stack(), stack(tier="fp32", emulate=True, recompute=True)
    loaded.load_state_dict(linear.state_dict())
    again.load_state_dict(loaded.state_dict())
    assert sorted(loaded.state_dict()) == sorted(
        f"{i}.linear.{name}" for i in range(3) for name in ("weight", "bias")
    )
    for a, b, c in zip(linear, loaded, again, strict=True):
        assert torch.equal(a.weight, b.linear.weight) and torch.equal(a.bias, c.linear.bias)
    assert torch.equal(loaded(spikes_in()), again(spikes_in()))
    with pytest.raises(RuntimeError, match=r"Missing key.*2\.linear\.weight"):
        loaded.load_state_dict(linear[:2].state_dict())


@pytest.mark.parametrize("sizes", [(), (5,)])
def test_a_stack_has_at_least_a_layer(sizes):
    with pytest.raises(ValueError, match="needs those of its input and of at least one layer"):
        LinearLIF.stack(sizes)
