"""The fused recurrent layer with the linear layer in front of it, and recomputed."""

import pytest
import torch
from support.neurons import currents_of, relative, saved_bytes

from snnbench.kernels import NeuronSpec, RecurrentLIF
from snnbench.kernels.linear.operands import CpuOperands
from snnbench.kernels.recurrent import behind_linear, recurrent_lif
from snnbench.kernels.spike_marks import words_of_spikes


@pytest.fixture(autouse=True)
def segments_of_128_steps(monkeypatch):
    """Of batches of 3, with recompute."""
    monkeypatch.setattr(behind_linear, "LEAST_ROWS", 3 * 128)


def layer_of(inputs, neurons, **options):
    """A layer with weights that make some of its neurons fire at inputs of 15 %."""
    layer = RecurrentLIF(neurons, inputs=inputs, **options)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, values in layer.named_parameters():
            scale = {"weight_ih_l0": 3 * inputs**-0.5, "weight_hh_l0": 0.5 * neurons**-0.5}
            values.copy_(torch.randn(values.shape, generator=generator) * scale.get(name, 0.1))
    return layer


def spikes_in(*shape, seed=4):
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.15).float()


def layer_results(layer, x, upstream, state=None):
    """Spikes, gradients by input, parameters and state, and the final state."""
    leaves = [x.detach().requires_grad_(), *layer.parameters()]
    leaves += [] if state is None else [state.detach().requires_grad_()]
    out = layer.run(leaves[0], None if state is None else leaves[-1])
    outputs, by_final = [out.spikes, out.state], 0.1 * torch.ones_like(out.state)
    gradients = torch.autograd.grad(outputs, leaves, [upstream.to(out.spikes), by_final])
    return [out.spikes.detach(), out.state.detach(), *gradients]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("shape", "inputs", "dense"),
    [
        ((37, 3, 97), 45, False),
        ((300, 3, 33), 24, False),
        ((70, 1, 5), 1, False),
        ((1, 3, 97), 45, False),
        ((67, 2, 65), 16, True),
    ],
    ids=str,
)
def test_a_linear_layer_in_front_is_torch_s(shape, inputs, dense, bias, recompute):
    layer = layer_of(inputs, shape[2], bias=bias, recompute=recompute)
    x = currents_of(*shape[:2], inputs) if dense else spikes_in(*shape[:2], inputs)
    state = torch.stack([currents_of(*shape[1:]), spikes_in(*shape[1:])])
    found = layer_results(layer, x, upstream := currents_of(*shape, seed=1), state)
    exact = layer_of(inputs, shape[2], bias=bias, backend="reference").double()
    expected = layer_results(exact, x.double(), upstream.double(), state.double())
    assert torch.equal(found[0].double(), expected[0]), "spikes differ: a fault, or another seed"
    assert found[0].any()
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        assert ours.dtype == torch.float32 and relative(ours, theirs) <= 5e-6


@pytest.mark.parametrize(
    ("spec", "dense"),
    [
        (None, False),
        (None, True),
        (NeuronSpec(adaptation=0.2, adaptation_decay=0.9), False),
        (NeuronSpec(current_decay=0.6), False),
    ],
)
def test_recomputing_gives_the_same_and_keeps_little(spec, dense):
    steps, batch, inputs, neurons = 600, 3, 24, 64
    x = currents_of(steps, batch, inputs) if dense else spikes_in(steps, batch, inputs)
    upstream, found, kept = currents_of(steps, batch, neurons), [], []
    for recompute in (False, True):
        layer = layer_of(inputs, neurons, spec=spec, recompute=recompute)
        found.append(layer_results(layer, x, upstream))
        kept.append(saved_bytes(layer, x) - sum(p.nbytes for p in layer.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(found[0][:2], found[1][:2], strict=True))
    assert all(relative(a, b) <= 2e-6 for a, b in zip(*found, strict=True))
    of_states = (8 if spec is None else 12) * batch * neurons * 4  # between them
    of_words = 8 * (5 + steps * batch)  # of 5 segments
    of_input = x.nbytes if dense else of_words
    assert kept[1] == of_input + of_states < kept[0]


@pytest.mark.slow
def test_short_types_under_autocast_and_in_the_layer():
    layer, x = layer_of(45, 33), spikes_in(37, 3, 45)
    with torch.autocast("cpu", torch.bfloat16):
        spikes = layer(x)
        currents = torch.nn.functional.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    assert spikes.dtype == torch.bfloat16
    assert torch.equal(spikes, recurrent_lif(currents, layer.weight_hh_l0).spikes)
    spikes.sum().backward()
    assert layer.weight_ih_l0.grad.dtype == layer.weight_hh_l0.grad.dtype == torch.float32
    short = layer.to(torch.bfloat16)
    found = layer_results(short, x.bfloat16(), currents_of(37, 3, 33).bfloat16())
    exact = layer_results(short.float(), x, currents_of(37, 3, 33).bfloat16().float())
    assert found[0].dtype == torch.bfloat16
    assert (found[0].float() != exact[0]).float().mean() <= 0.01, "currents are rounded"


def test_it_loads_torch_s_recurrent_layer():
    torch.manual_seed(0)
    rnn, layer = torch.nn.RNN(5, 7), RecurrentLIF(7, inputs=5)
    layer.load_state_dict(rnn.state_dict())
    assert torch.equal(layer.weight_ih_l0, rnn.weight_ih_l0)
    assert torch.equal(layer.bias_ih_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)
    RecurrentLIF(7, inputs=5, bias=False).load_state_dict(
        torch.nn.RNN(5, 7, bias=False).state_dict()
    )


def test_layers_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="recompute needs the linear layer in front"):
        RecurrentLIF(5, recompute=True)
    with pytest.raises(ValueError, match=r"a weight \(5, 4\) .* does not fit x \(3, 2, 7\)"):
        RecurrentLIF(5, inputs=4)(torch.zeros(3, 2, 7))
    x, layer = currents_of(7, 3, 4).requires_grad_(), RecurrentLIF(5, inputs=4)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(layer(x).sum(), x, create_graph=True)


def test_layers_hand_on_words_of_their_spikes():
    first, second, x = layer_of(45, 97), layer_of(97, 65), spikes_in(37, 3, 45)
    between = first(x)
    expected = CpuOperands(second.weight_ih_l0, 1).words(between)
    assert between.any() and torch.equal(words_of_spikes(between), expected)
    out = second(between)
    assert torch.equal(out, second(between.clone()))
    with torch.no_grad():
        between *= 2
    assert words_of_spikes(between) is None
