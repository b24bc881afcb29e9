"""LinearLIF: what it computes in every way that it can be told to, what it keeps, and what it knows of its inputs."""

import copy
import sys
from itertools import product
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import tensor_core

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec, lif
from snnbench.kernels.linear import functional, operator, pieces, weights
from snnbench.kernels.linear.splits import TIERS
from snnbench.kernels.marks import most_spikes

TIMES, BATCH, INPUTS, NEURONS = 70, 3, 45, 33
TOLERANCE = {None: 2e-6, "fp32": 2e-6, "fp32-pair": 2e-6, "tf32": 0.1, "bf16": 0.3}
"""Of gradients against float64, relative L2: a spike that differs, in the short tiers, changes all that follows."""


@pytest.fixture(autouse=True)
def nothing_kept():
    weights.forget()


def layer(dtype=torch.float32, spec=None, bias=True, **options) -> LinearLIF:
    """Its neurons fire at about one in five steps."""
    torch.manual_seed(1)
    made = LinearLIF(INPUTS, NEURONS, bias, spec, **options)
    with torch.no_grad():
        made.linear.weight.mul_(3)
    return made.to(dtype)


def spikes_in(counts=1):
    return tensor_core.spikes(TIMES * BATCH, INPUTS, counts=counts).view(TIMES, BATCH, INPUTS)


UPSTREAM = torch.randn(TIMES, BATCH, NEURONS, generator=torch.Generator().manual_seed(2))


def results(module, x):
    """(spikes, gradients by x, weight and bias) in float64."""
    x = x.detach().clone().requires_grad_()
    spikes = module(x)
    spikes.backward(UPSTREAM.to(spikes.dtype))
    bias = module.linear.bias
    return [t.detach().double() for t in (spikes, x.grad, module.linear.weight.grad, *([] if bias is None else [bias.grad]))]


def relative(found, exact):
    return float((found - exact).norm() / exact.norm())


def check_against_float64(module, x, tier):
    exact = results(copy.deepcopy(module).double(), x.double())
    found = results(module, x)
    assert 0.05 < exact[0].mean() < 0.5
    if TIERS[tier].is_float32 if tier else True:
        assert torch.equal(found[0], exact[0])
    for got, expected in zip(found[1:], exact[1:], strict=True):
        assert relative(got, expected) <= TOLERANCE[tier]
    return found


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("tier", [None, *TIERS])
def test_every_way_to_compute_it(tier, input, recompute):
    x = spikes_in() if input == "spikes" else tensor_core.matrix("normal", TIMES * BATCH, INPUTS).view(TIMES, BATCH, INPUTS) * 3
    check_against_float64(layer(tier=tier, emulate=tier is not None, input=input, recompute=recompute), x, tier)


@pytest.mark.parametrize("operands", ["fp32", "fp32-pair", "tf32", "bf16"])
def test_a_tier_is_the_plain_product_on_cpus(operands):
    x = spikes_in()
    found, plain = results(layer(tier=operands, input="spikes", spikes_dtype=torch.float32), x), results(layer(), x)
    assert all(torch.equal(a, b) for a, b in zip(found, plain, strict=True))


def test_without_options_it_is_a_linear_and_a_neuron():
    module, x = layer(), spikes_in()
    x.requires_grad_()
    spikes = lif(torch.nn.functional.linear(x, module.linear.weight), shift=module.linear.bias).spikes
    expected = [spikes, *torch.autograd.grad(spikes, [x, module.linear.weight, module.linear.bias], UPSTREAM)]
    assert all(torch.equal(a, b.double()) for a, b in zip(results(module, x), expected, strict=True))


@pytest.mark.parametrize("tier", [None, "fp32-pair"])
@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("piece", [1 << 20, 4096, 1])
def test_pieces_of_any_size_give_the_same(monkeypatch, tier, input, piece):
    monkeypatch.setattr(pieces, "PIECE", piece)
    monkeypatch.setattr(pieces, "LEAST", 1 if piece == 1 else 16)
    x, told = spikes_in(), {"tier": tier, "emulate": tier is not None, "input": input}
    for found, expected in zip(results(layer(recompute=True, **told), x), results(layer(**told), x), strict=True):
        assert relative(found, expected) <= 1e-6
    assert torch.equal(layer(recompute=True, **told)(x), layer(**told)(x))


def test_backward_multiplies_what_forward_multiplied(monkeypatch):
    """Of the same memory, of the same pieces, with the same result: else a spike might be decided otherwise."""
    monkeypatch.setattr(pieces, "PIECE", 4096)
    monkeypatch.setattr(pieces, "LEAST", 16)
    seen = []
    real = pieces.Pieces.currents
    monkeypatch.setattr(pieces.Pieces, "currents", lambda *given: (seen.append(real(*given).clone()), real(*given))[1])
    results(layer(input="spikes", recompute=True), spikes_in())
    half, width = len(seen) // 2, -(-NEURONS // 32)
    assert half == 3 * width
    forward = [seen[first : first + width] for first in range(0, half, width)]
    backward = [seen[first : first + width] for first in range(half, 2 * half, width)][::-1]
    assert all(torch.equal(a, b) for p, q in zip(forward, backward, strict=True) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(("of_input", "of_weight", "of_bias"), list(product([False, True], repeat=3)))
def test_each_gradient_is_optional(recompute, of_input, of_weight, of_bias):
    expected = results(layer(), spikes_in())[1:]
    module, x = layer(recompute=recompute, input="spikes"), spikes_in().requires_grad_(of_input)
    module.linear.weight.requires_grad_(of_weight)
    module.linear.bias.requires_grad_(of_bias)
    spikes = module(x)
    assert spikes.requires_grad == (of_input or of_weight or of_bias)
    if not spikes.requires_grad:
        return
    spikes.backward(UPSTREAM)
    for tensor, exact in zip((x, *module.linear.parameters()), expected, strict=True):
        assert (tensor.grad is not None) == tensor.requires_grad
        if tensor.requires_grad:
            assert relative(tensor.grad, exact) <= 1e-6


@pytest.mark.parametrize("recompute", [False, True])
def test_without_a_bias(recompute):
    check_against_float64(layer(bias=False, recompute=recompute, input="spikes"), spikes_in(), None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("recompute", [False, True])
def test_parameters_in_short_formats(dtype, recompute):
    x = spikes_in().to(dtype)
    found = results(layer(dtype, recompute=recompute, input="spikes"), x)
    plain = layer(dtype)
    currents = torch.nn.functional.linear(x, plain.linear.weight)
    assert torch.equal(found[0], lif(currents, shift=plain.linear.bias).spikes.double())
    exact = results(layer(dtype).double(), x.double())
    assert all(relative(a, b) <= TOLERANCE["bf16"] for a, b in zip(found[1:], exact[1:], strict=True))


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0,), (5, 2, 0)])
def test_empty_inputs(recompute, shape):
    module, x = layer(recompute=recompute), torch.zeros(*shape, INPUTS, requires_grad=True)
    spikes = module(x)
    assert spikes.shape == (*shape, NEURONS)
    spikes.sum().backward()
    assert (module.linear.weight.grad == 0).all() and (module.linear.bias.grad == 0).all() and x.grad.shape == x.shape


@pytest.mark.parametrize("recompute", [False, True])
def test_any_number_of_dims_and_any_strides(recompute):
    x = spikes_in()
    module = layer(recompute=recompute)
    expected = module(x)
    assert torch.equal(module(x[:, 0]), expected[:, 0])
    assert torch.equal(module(x.unsqueeze(1).expand(-1, 2, -1, -1))[:, 1], expected)
    assert torch.equal(module(x.transpose(0, 1).contiguous().transpose(0, 1)), expected)


# -- what is kept ----------------------------------------------------------------------------------------------------------


def saved_bytes(module, x) -> int:
    """Beyond the input and the parameters."""
    saved, own = {}, {t.untyped_storage().data_ptr() for t in (x, *module.parameters())}

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in own:
            saved[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        kept_alive = module(x)
    del kept_alive
    return sum(saved.values())


def test_recompute_keeps_bits_and_a_state_every_32_steps():
    states, rows = 4 * 3 * BATCH * NEURONS, TIMES * BATCH
    assert saved_bytes(layer(), spikes_in()) == 4 * rows * NEURONS + states
    assert saved_bytes(layer(recompute=True, input="spikes"), spikes_in()) == rows * -(-INPUTS // 8) + states
    assert saved_bytes(layer(recompute=True, input="spikes", input_counts=9), spikes_in()) == rows * INPUTS + states
    assert saved_bytes(layer(recompute=True), spikes_in()) == states
    with torch.no_grad():
        assert saved_bytes(layer(recompute=True, input="spikes"), spikes_in()) == 0


@pytest.mark.parametrize("counts", [1, 3, 255])
def test_what_is_packed_is_unpacked(counts):
    from snnbench.kernels.linear import packing

    for inputs in (1, 7, 8, 9, 45):
        spikes = tensor_core.spikes(6, inputs, counts=counts).view(2, 3, inputs)
        out = torch.full_like(spikes, torch.nan)
        packing.unpack(packing.packed(spikes, counts), counts, out)
        assert torch.equal(out, spikes)


def test_the_input_need_not_live_until_backward():
    module, x = layer(recompute=True, input="spikes"), spikes_in()
    spikes = module(x)
    expected = results(layer(), spikes_in())[2]
    x.zero_()  # an input that had been kept would be missed
    spikes.backward(UPSTREAM)
    assert relative(module.linear.weight.grad, expected) <= 1e-6


# -- what is known of inputs -----------------------------------------------------------------------------------------------


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
    assert most_spikes(out.spikes) == most_spikes(out.state) == most_spikes(out.trace) == most_spikes(x) == 0


def test_a_mark_ends_with_the_first_write_and_with_the_tensor():
    spikes = LIF()(spikes_in())
    assert most_spikes(spikes) == 1
    assert most_spikes(spikes[:5]) == most_spikes(spikes * 2) == most_spikes(spikes.clone()) == 0
    spikes[0] = 0.5
    assert most_spikes(spikes) == 0
    with torch.inference_mode():
        assert most_spikes(LIF()(spikes_in())) == 0


def told(monkeypatch, module, x):
    """The options with which a call ended up."""
    seen = []
    real = functional.linear_lif
    monkeypatch.setattr(functional, "linear_lif", lambda *given: (seen.append(given[0]), real(*given))[1])
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
    assert told(monkeypatch, layer(tier="fp32", emulate=True, **options), x).counts == counts


@pytest.mark.parametrize("counts", [1, 3, 256, 257, 2048, 2049])
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("recompute", [False, True])
def test_counts_that_a_format_cannot_hold_take_the_dense_path(tier, counts, recompute):
    x = spikes_in(counts)
    x[0, 0, 0] = counts
    spec = NeuronSpec(detach_reset=True, threshold=float(counts), slope=1 / counts)
    module = layer(spec=spec, tier=tier, emulate=True, input="spikes", input_counts=counts, recompute=recompute)
    check_against_float64(module, x, tier)


@pytest.mark.parametrize("value", [0.5, -1.0, 2.0, torch.nan, torch.inf])
def test_a_wrong_declaration_is_caught(monkeypatch, value):
    x = spikes_in()
    layer(input="spikes", check=True)(x)
    x[3, 1, 4] = value
    layer(input="dense", check=True)(x)
    with pytest.raises(
        ValueError, match=r'declared as spikes, 0 to 1 a step, but 0.01% of them are not \(such as .*input="dense"'
    ):
        layer(input="spikes", check=True)(x)
    monkeypatch.setenv(functional.CHECK, "1")
    with pytest.raises(ValueError, match="declared as spikes"):
        layer(input="spikes")(x)


# -- weights ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def splits_made(monkeypatch):
    """How often a weight was split, by tier."""
    made = []
    real = dict(weights.TIERS)

    class Noted:
        def __init__(self, tier):
            self.tier = tier

        def split(self, weight):
            made.append(self.tier)
            return real[self.tier].split(weight)

    monkeypatch.setattr(weights, "TIERS", {tier: Noted(tier) for tier in real})
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
        found, again = module(spikes_in()), module(spikes_in())
    assert len(splits_made) == 4 and torch.equal(found, again)
    assert torch.equal(found, layer_with(module.linear.weight, module.linear.bias)(spikes_in()))


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
    assert len(splits_made) == 5 and len(weights._kept) <= 2
    module = layer(tier="fp32", emulate=True, input="spikes")
    before = module(x)
    module.linear.weight.data.mul_(0.5)  # which torch does not count
    assert torch.equal(module(x), before)
    weights.forget()
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
    assert sorted(state) == ["bias", "weight"] and sorted(loaded.state_dict()) == ["linear.bias", "linear.weight"]
    assert torch.equal(shared(spikes_in()), loaded(spikes_in())) and torch.equal(again(spikes_in()), loaded(spikes_in()))
    whole = torch.nn.Sequential(layer())
    whole.load_state_dict({"0.weight": linear.weight, "0.bias": linear.bias})
    assert torch.equal(whole(spikes_in()), loaded(spikes_in()))


# -- between layers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tier", "spikes"), [("fp32", torch.float16), ("tf32", torch.float16), ("bf16", torch.bfloat16)])
@pytest.mark.parametrize("recompute", [False, True])
def test_layers_hand_on_short_spikes_and_gradients_of_the_tier(monkeypatch, tier, spikes, recompute):
    seen = []
    real = operator.passes.backward
    monkeypatch.setattr(
        operator.passes, "backward", lambda *given: (seen.append((given[5].dtype, float(given[5].abs().max()))), real(*given))[1]
    )
    options = {"tier": tier, "emulate": True, "recompute": recompute}
    first = layer(input="spikes", spikes_dtype=spikes, **options)
    second = LinearLIF(NEURONS, 5, **options)
    between = first(spikes_in())
    assert between.dtype == spikes and most_spikes(between) == 1
    second(between).backward(torch.full((TIMES, BATCH, 5), 1e-8))
    assert seen[1][0] == (torch.bfloat16 if tier == "bf16" else torch.float32) and 0 < seen[1][1] < 1e-6
    assert first.linear.weight.grad.dtype == torch.float32 and first.linear.weight.grad.abs().sum() > 0


# -- torch -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("recompute", [False, True])
def test_plain_calls_and_the_operator_give_the_same_bits(monkeypatch, tier, recompute):
    options = {"tier": tier, "emulate": tier is not None, "input": "spikes", "recompute": recompute}
    plain = results(layer(**options), spikes_in())
    monkeypatch.setattr(functional.eager, "suffices", lambda tensors: False)
    assert all(torch.equal(a, b) for a, b in zip(plain, results(layer(**options), spikes_in()), strict=True))


@pytest.mark.parametrize("tier", [None, "fp32", "tf32", "bf16"])
@pytest.mark.parametrize(("recompute", "counts"), [(False, 1), (True, 0), (True, 1), (True, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_opcheck(tier, recompute, counts, bias):
    shape = (spikes_in().shape, (NEURONS, INPUTS), torch.float32, torch.device("cpu"))
    options = functional.options_of(NeuronSpec(), *shape, counts, None, True, None, tier, True, recompute)
    module, x = layer(), spikes_in().requires_grad_()
    arguments = (x, module.linear.weight, module.linear.bias if bias else None)
    torch.library.opcheck(operator.linear_lif_op, (*arguments, *options.arguments()))
    spikes, *kept = (t.detach() for t in operator.linear_lif_op(*arguments, *options.arguments()))
    arguments = [None if t is None else t.detach() for t in arguments]
    arguments[0] = None if options.packs else arguments[0]
    upstream = UPSTREAM.to(spikes.dtype)
    told = (*arguments, *kept, upstream, [True, True, bias], *options.arguments())
    torch.library.opcheck(operator.linear_lif_backward_op, told)


class Two(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first = layer(input="spikes", **options)
        self.second = LinearLIF(NEURONS, 5, input="spikes", **options)

    def forward(self, x):
        return self.second(self.first(x))


@pytest.mark.parametrize(
    "options",
    [{}, {"recompute": True}, {"tier": "fp32", "emulate": True}, {"tier": "tf32", "emulate": True, "recompute": True}],
    ids=str,
)
def test_compile_without_graph_breaks_gives_the_same(options):
    found = []
    for build in (lambda m: m, lambda m: torch.compile(m, fullgraph=True)):
        torch._dynamo.reset()
        weights.forget()
        module, x = Two(**options), spikes_in().requires_grad_()
        spikes = build(module)(x)
        spikes.backward(torch.arange(5.0).expand_as(spikes))
        found.append([spikes, x.grad, *(p.grad for p in module.parameters())])
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)
    assert found[0][0].sum() > 0


@pytest.mark.parametrize("recompute", [False, True])
def test_under_autocast_the_product_is_in_its_type(recompute):
    module, x = layer(recompute=recompute, input="spikes"), spikes_in()
    with torch.autocast("cpu", torch.bfloat16):
        spikes = module(x)
    assert spikes.dtype == torch.bfloat16
    currents = torch.nn.functional.linear(x.bfloat16(), module.linear.weight.bfloat16())
    assert torch.equal(spikes, lif(currents, shift=module.linear.bias).spikes)
    spikes.sum().backward()
    assert module.linear.weight.grad.dtype == module.linear.bias.grad.dtype == torch.float32


@pytest.mark.parametrize("recompute", [False, True])
def test_a_second_derivative_is_refused(recompute):
    module = layer(recompute=recompute, input="spikes")
    (gradient,) = torch.autograd.grad(module(spikes_in()).sum(), module.linear.weight, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("options", "x", "error", "message"),
    [
        ({"tier": "fp8"}, None, ValueError, "tier = 'fp8' is not one of fp32, fp32-pair, tf32, bf16"),
        ({"input": "sparse"}, None, ValueError, "input = 'sparse' is not"),
        ({"input_counts": 0}, None, ValueError, "input_counts = 0 must be"),
        ({}, torch.zeros(5, 3, 7), ValueError, r"inputs \(5, 3, 7\) do not fit a weight \(33, 45\)"),
        ({}, torch.zeros(45), ValueError, r"inputs need the shape \(time_steps, …, 45\), not \(45,\)"),
        ({}, torch.zeros(5, 3, 45).half(), TypeError, "a dense input of torch.float16 does not fit a weight of torch.float32"),
        ({"spikes_dtype": "bits"}, torch.zeros(5, 3, 45), TypeError, "the next layer takes numbers"),
        ({"backend": "metal"}, torch.zeros(5, 3, 45), ValueError, "backend = 'metal'"),
    ],
)
def test_what_does_not_fit_is_named(options, x, error, message):
    with pytest.raises(error, match=message):
        layer(**options)(x)


def test_options_survive_their_text():
    shape = ((5, 3, INPUTS), (NEURONS, INPUTS), torch.float32, torch.device("cpu"))
    given = functional.options_of(NeuronSpec("hard"), *shape, 3, None, True, None, "fp32-pair", True, True)
    assert operator.Options.of(*given.arguments()) == given
