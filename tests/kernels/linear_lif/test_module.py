"""LinearLIF: its results with every option, and what it saves for backward."""

from itertools import product

import pytest
import torch
from support import tensor_core
from support.linear_layers import (
    BATCH,
    INPUTS,
    NEURONS,
    TIMES,
    TOLERANCE,
    UPSTREAM,
    check_against_float64,
    empty_cache,  # noqa: F401 a fixture of every test
    layer,
    relative,
    results,
    spikes_in,
)
from support.slow import representatives

from snnbench.kernels.lif import lif
from snnbench.kernels.linear_lif import recompute
from snnbench.kernels.linear_lif.split_formats import TIERS


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("tier", [None, *TIERS])
def test_every_way_to_compute_it(tier, input, recompute):
    x = (
        spikes_in()
        if input == "spikes"
        else tensor_core.matrix("normal", TIMES * BATCH, INPUTS).view(TIMES, BATCH, INPUTS) * 3
    )
    check_against_float64(
        layer(tier=tier, emulate=tier is not None, input=input, recompute=recompute), x, tier
    )


@pytest.mark.parametrize("operands", ["fp32", "fp32-pair", "tf32", "bf16"])
def test_a_tier_is_the_plain_product_on_cpus(operands):
    x = spikes_in()
    actual, plain = (
        results(layer(tier=operands, input="spikes", spikes_dtype=torch.float32), x),
        results(layer(input="spikes"), x),
    )
    assert all(torch.equal(a, b) for a, b in zip(actual, plain, strict=True))


def test_without_options_it_is_a_linear_and_a_neuron():
    module, x = layer(backend="reference"), spikes_in()
    x.requires_grad_()
    spikes = lif(
        torch.nn.functional.linear(x, module.linear.weight),
        shift=module.linear.bias,
        backend="reference",
    ).spikes
    expected = [
        spikes,
        *torch.autograd.grad(spikes, [x, module.linear.weight, module.linear.bias], UPSTREAM),
    ]
    assert all(
        torch.equal(a, b.double()) for a, b in zip(results(module, x), expected, strict=True)
    )
    assert all(
        relative(a, b.double()) <= 1e-6 for a, b in zip(results(layer(), x), expected, strict=True)
    )


@pytest.mark.parametrize("tier", [None, "fp32-pair"])
@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("piece", representatives([1 << 20, 4096, 1], [1]))
def test_pieces_of_any_size_give_the_same(monkeypatch, tier, input, piece):
    monkeypatch.setattr(recompute, "PIECE", piece)
    monkeypatch.setattr(recompute, "LEAST", 1 if piece == 1 else 16)
    x, options = spikes_in(), {"tier": tier, "emulate": tier is not None, "input": input}
    for actual, expected in zip(
        results(layer(recompute=True, **options), x), results(layer(**options), x), strict=True
    ):
        assert relative(actual, expected) <= 1e-6
    assert torch.equal(layer(recompute=True, **options)(x), layer(**options)(x))


def test_backward_multiplies_what_forward_multiplied(monkeypatch):
    """Both multiply the same pieces of the same memory with the same result; otherwise spikes
    might differ."""
    monkeypatch.setattr(recompute, "PIECE", 4096)
    monkeypatch.setattr(recompute, "LEAST", 16)
    seen = []
    real = recompute.CallInPieces.currents
    monkeypatch.setattr(
        recompute.CallInPieces,
        "currents",
        lambda *given: (seen.append(real(*given).clone()), real(*given))[1],
    )
    results(layer(input="spikes", recompute=True), spikes_in())
    half, width = len(seen) // 2, -(-NEURONS // 32)
    assert half == 3 * width
    forward = [seen[first : first + width] for first in range(0, half, width)]
    backward = [seen[first : first + width] for first in range(half, 2 * half, width)][::-1]
    assert all(
        torch.equal(a, b)
        for p, q in zip(forward, backward, strict=True)
        for a, b in zip(p, q, strict=True)
    )


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(
    ("of_input", "of_weight", "of_bias"), list(product([False, True], repeat=3))
)
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
@pytest.mark.parametrize("recompute", representatives([False, True], [1]))
def test_parameters_in_short_formats(dtype, recompute):
    x = spikes_in().to(dtype)
    actual = results(layer(dtype, recompute=recompute, input="spikes"), x)
    plain = layer(dtype)
    currents = torch.nn.functional.linear(x, plain.linear.weight)
    assert torch.equal(actual[0], lif(currents, shift=plain.linear.bias).spikes.double())
    exact = results(layer(dtype).double(), x.double())
    assert all(
        relative(a, b) <= TOLERANCE["bf16"] for a, b in zip(actual[1:], exact[1:], strict=True)
    )


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0,), (5, 2, 0)])
def test_empty_inputs(recompute, shape):
    module, x = layer(recompute=recompute), torch.zeros(*shape, INPUTS, requires_grad=True)
    spikes = module(x)
    assert spikes.shape == (*shape, NEURONS)
    spikes.sum().backward()
    assert (
        (module.linear.weight.grad == 0).all()
        and (module.linear.bias.grad == 0).all()
        and x.grad.shape == x.shape
    )


@pytest.mark.parametrize("recompute", [False, True])
def test_any_number_of_dims_and_any_strides(recompute):
    x = spikes_in()
    module = layer(recompute=recompute)
    expected = module(x)
    assert torch.equal(module(x[:, 0]), expected[:, 0])
    assert torch.equal(module(x.unsqueeze(1).expand(-1, 2, -1, -1))[:, 1], expected)
    assert torch.equal(module(x.transpose(0, 1).contiguous().transpose(0, 1)), expected)


# -- what is saved ---------------------------------------------------------------------------------


def saved_bytes(module, x) -> int:
    """Bytes saved for backward beyond the input and the parameters."""
    saved, own = {}, {t.untyped_storage().data_ptr() for t in (x, *module.parameters())}

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in own:
            saved[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        spikes = module(x)  # held until its saved tensors are counted
    del spikes
    return sum(saved.values())


def test_recompute_keeps_bits_and_a_state_every_32_steps():
    states, rows = 4 * 3 * BATCH * NEURONS, TIMES * BATCH
    assert saved_bytes(layer(), spikes_in()) == 4 * rows * NEURONS + states
    assert (
        saved_bytes(layer(recompute=True, input="spikes"), spikes_in())
        == rows * -(-INPUTS // 8) + states
    )
    assert (
        saved_bytes(layer(recompute=True, input="spikes", input_counts=9), spikes_in())
        == rows * INPUTS + states
    )
    assert saved_bytes(layer(recompute=True), spikes_in()) == states
    with torch.no_grad():
        assert saved_bytes(layer(recompute=True, input="spikes"), spikes_in()) == 0


@pytest.mark.parametrize("counts", [1, 3, 255])
def test_what_is_packed_is_unpacked(counts):
    from snnbench.kernels import bits

    for inputs in (1, 7, 8, 9, 45):
        spikes = tensor_core.spikes(6, inputs, counts=counts).view(2, 3, inputs)
        out = torch.full_like(spikes, torch.nan)
        bits.unpack(bits.pack(spikes, counts), counts, out)
        assert torch.equal(out, spikes)


def test_the_input_need_not_live_until_backward():
    module, x = layer(recompute=True, input="spikes"), spikes_in()
    spikes = module(x)
    expected = results(layer(), spikes_in())[2]
    x.zero_()  # if backward needed the input itself, its results would differ
    spikes.backward(UPSTREAM)
    assert relative(module.linear.weight.grad, expected) <= 1e-6
