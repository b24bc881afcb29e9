"""LinearLIF: whether inputs are spikes, and when weights are split."""

import pytest
import torch
from support import tensor_core
from support.linear_layers import (
    INPUTS,
    NEURONS,
    UPSTREAM,
    check_against_float64,
    empty_cache,  # noqa: F401 a fixture of every test
    layer,
    spikes_in,
)

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.kernels.linear_lif import functional, split_cache
from snnbench.kernels.linear_lif.split_formats import TIERS
from snnbench.kernels.spike_marks import most_spikes


def test_our_modules_mark_what_they_make():
    x = spikes_in()
    for module in (
        layer(),
        layer(recompute=True),
        LIF(NeuronSpec(max_spikes=3)),
        BatchNormLIF(INPUTS),
        BatchNormLIF(INPUTS).eval(),
    ):
        assert most_spikes(module(x)) == module.spec.max_spikes
    out = lif(x, spikes_dtype="bits", trace=True)
    assert (
        most_spikes(out.spikes)
        == most_spikes(out.state)
        == most_spikes(out.trace)
        == most_spikes(x)
        == 0
    )


def test_a_mark_ends_with_the_first_write_and_with_the_tensor():
    spikes = LIF()(spikes_in())
    assert most_spikes(spikes) == 1
    assert most_spikes(spikes[:5]) == most_spikes(spikes * 2) == most_spikes(spikes.clone()) == 0
    spikes[0] = 0.5
    assert most_spikes(spikes) == 0
    with torch.inference_mode():
        assert most_spikes(LIF()(spikes_in())) == 0


def options_of_call(monkeypatch, module, x):
    """The options of a call, with defaults filled in."""
    seen = []
    real = functional.run
    monkeypatch.setattr(functional, "run", lambda *given: (seen.append(given[0]), real(*given))[1])
    module(x)
    return seen[0]


@pytest.mark.parametrize(
    ("options", "neuron", "counts"),
    [
        ({}, None, 0),
        ({}, NeuronSpec(), 1),
        ({}, NeuronSpec(max_spikes=3), 3),
        ({"input": "dense"}, NeuronSpec(), 0),
        ({"input": "spikes"}, None, 1),
        ({"input": "spikes", "input_counts": 7}, None, 7),
    ],
)
def test_what_an_input_is_comes_from_a_declaration_or_a_mark(monkeypatch, options, neuron, counts):
    x = spikes_in() if neuron is None else LIF(neuron)(spikes_in())
    assert (
        options_of_call(monkeypatch, layer(tier="fp32", emulate=True, **options), x).counts
        == counts
    )


@pytest.mark.parametrize("counts", [1, 3, 256, 257, 2048, 2049])
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("recompute", [False, True])
def test_counts_that_a_format_cannot_hold_take_the_dense_path(tier, counts, recompute):
    x = spikes_in(counts)
    x[0, 0, 0] = counts
    spec = NeuronSpec(detach_reset=True, threshold=float(counts), slope=1 / counts)
    module = layer(
        spec=spec, tier=tier, emulate=True, input="spikes", input_counts=counts, recompute=recompute
    )
    check_against_float64(module, x, tier)


@pytest.mark.parametrize("value", [0.5, -1.0, 2.0, torch.nan, torch.inf])
def test_a_wrong_declaration_is_caught(monkeypatch, value):
    x = spikes_in()
    layer(input="spikes", check=True)(x)
    x[3, 1, 4] = value
    layer(input="dense", check=True)(x)
    with pytest.raises(
        ValueError,
        match=r'declared as spikes, 0 to 1 a step, but 0.01% of them are not \(such as .*input="dense"',
    ):
        layer(input="spikes", check=True)(x)
    monkeypatch.setenv(functional.CHECK, "1")
    with pytest.raises(ValueError, match="declared as spikes"):
        layer(input="spikes")(x)


# -- weights ---------------------------------------------------------------------------------------


@pytest.fixture
def splits_made(monkeypatch):
    """How often a weight was split, by tier."""
    made = []
    real = dict(split_cache.TIERS)

    class Noted:
        def __init__(self, tier):
            self.tier = tier

        def split(self, weight):
            made.append(self.tier)
            return real[self.tier].split(weight)

    monkeypatch.setattr(split_cache, "TIERS", {tier: Noted(tier) for tier in real})
    return made


@pytest.mark.parametrize("recompute", [False, True])
def test_a_weight_is_split_once_a_step(splits_made, recompute):
    module = layer(tier="fp32", emulate=True, input="spikes", recompute=recompute)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(spikes_in()).backward(UPSTREAM)
        optimizer.step()
    assert splits_made == ["fp32"] * 3
    with torch.no_grad():
        actual, again = module(spikes_in()), module(spikes_in())
    assert len(splits_made) == 4 and torch.equal(actual, again)
    assert torch.equal(actual, layer_with(module.linear.weight, module.linear.bias)(spikes_in()))


@pytest.mark.parametrize("recompute", [False, True])
def test_backward_multiplies_what_forward_split(splits_made, recompute):
    """Without a cache between calls, as while a CUDA graph is captured, a weight is still split
    only once in a step."""
    module = layer(tier="fp32", emulate=True, input="spikes", recompute=recompute)
    spikes = module(spikes_in())
    split_cache.forget()
    spikes.backward(UPSTREAM)
    assert splits_made == ["fp32"]


def layer_with(weight, bias):
    made = layer()
    with torch.no_grad():
        made.linear.weight.copy_(weight)
        made.linear.bias.copy_(bias)
    return made


def test_other_weights_are_split_for_themselves(splits_made):
    x = spikes_in()
    for seed in range(5):  # each in the memory of the one before
        module = layer(tier="fp32", emulate=True, input="spikes")
        with torch.no_grad():
            module.linear.weight.copy_(tensor_core.matrix("normal", NEURONS, INPUTS, seed) * 3)
            assert torch.equal(module(x), layer_with(module.linear.weight, module.linear.bias)(x))
        del module
    assert len(splits_made) == 5 and len(split_cache._splits) <= 2
    module = layer(tier="fp32", emulate=True, input="spikes")
    before = module(x)
    module.linear.weight.data.mul_(0.5)  # which torch does not count
    assert torch.equal(module(x), before)
    split_cache.forget()
    assert not torch.equal(module(x), before)
    with torch.inference_mode():
        assert torch.equal(module(x), layer_with(module.linear.weight, module.linear.bias)(x))


def test_a_weight_written_to_between_forward_and_backward_is_refused():
    module = layer(tier="fp32", emulate=True, input="spikes")
    spikes = module(spikes_in())
    with torch.no_grad():
        module.linear.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        spikes.sum().backward()


def test_it_takes_a_linear_and_its_state():
    linear = torch.nn.Linear(INPUTS, NEURONS)
    shared, loaded, again = LinearLIF.of(linear, recompute=True), layer(), layer()
    assert shared.linear.weight is linear.weight
    loaded.load_state_dict(state := linear.state_dict())
    again.load_state_dict(loaded.state_dict())
    assert sorted(state) == ["bias", "weight"] and sorted(loaded.state_dict()) == [
        "linear.bias",
        "linear.weight",
    ]
    assert torch.equal(shared(spikes_in()), loaded(spikes_in())) and torch.equal(
        again(spikes_in()), loaded(spikes_in())
    )
    whole = torch.nn.Sequential(layer())
    whole.load_state_dict({"0.weight": linear.weight, "0.bias": linear.bias})
    assert torch.equal(whole(spikes_in()), loaded(spikes_in()))
