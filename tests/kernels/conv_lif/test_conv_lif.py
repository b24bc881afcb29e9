"""Convolution, norm and neuron as one, against the same layers apart in float64."""

import copy
from itertools import product

import pytest
import torch
from support.neurons import relative, saved_bytes
from support.slow import one_of_each, representatives
from torch.nn.functional import conv2d

from snnbench.adapters.base.torch_network import Merged
from snnbench.kernels import LIF, ConvLIF, LinearNormLIF, NeuronSpec
from snnbench.kernels.conv_lif import alone, autograd, strides
from snnbench.kernels.conv_lif import spikes as spike_products
from snnbench.kernels.spike_marks import mark

SHAPES = {
    "two chunks, odd sizes": ((37, 3, 3, 9, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "one chunk, bits in whole bytes": ((5, 4, 8, 6, 6), {"kernel_size": 3, "padding": 1}),
    "an uneven window": (
        (4, 2, 9, 5, 8),
        {"kernel_size": (1, 3), "stride": (1, 2), "padding": (0, 2)},
    ),
    "every other pixel": ((5, 3, 4, 10, 9), {"kernel_size": 1, "stride": (2, 3)}),
    "a pixel": ((33, 2, 5, 1, 1), {"kernel_size": 1}),
    "all pixels": ((5, 4, 6, 2, 3), {"kernel_size": (2, 3)}),
    "taps at every pixel": ((5, 4, 6, 2, 2), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "pixel by pixel": ((5, 4, 9, 4, 3), {"kernel_size": 1}),
    "taps outside": ((37, 3, 6, 1, 2), {"kernel_size": (3, 1), "padding": (1, 0)}),
}
SPECS = [NeuronSpec(), NeuronSpec("hard", detach_reset=True, surrogate="triangle")]


@pytest.fixture(autouse=True)
def few_images_at_a_time(monkeypatch):
    """Small layers skip zeros, too."""
    monkeypatch.setattr(autograd, "PIECE", 1)
    monkeypatch.setattr(spike_products, "LEAST_CHANNELS", 1)
    monkeypatch.setattr(spike_products, "LEAST_WEIGHT", 1)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def input_of(shape, spikes):
    x = (drawn(*shape) > 0.3).float() if spikes else drawn(*shape)
    x.requires_grad_()
    if spikes:
        mark(x, 1)
    return x


def layers_apart(layer, x):
    """Spikes of the same layers in float64, and the norm, if there is one."""
    conv = layer.conv
    parameters = [
        None if p is None else p.detach().double().requires_grad_()
        for p in (conv.weight, conv.bias)
    ]
    currents = conv2d(x.flatten(0, 1), *parameters, conv.stride, conv.padding)
    norm = None
    if layer.norm is not None:
        norm = torch.nn.BatchNorm2d(
            layer.norm.num_features, layer.norm.eps, layer.norm.momentum
        ).double()
        norm.load_state_dict(layer.norm.state_dict())
        currents = norm(currents)
    return (
        LIF(layer.spec, backend="reference")(currents.unflatten(0, x.shape[:2])),
        parameters,
        norm,
    )


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.label())
@pytest.mark.parametrize(
    ("shape", "norm", "recompute", "spikes"),
    one_of_each(list(product(SHAPES, *3 * [[True, False]]))),
)
def test_equal_to_the_layers_apart(shape, norm, recompute, spikes, spec):
    size, window = SHAPES[shape]
    torch.manual_seed(1)
    layer = ConvLIF(size[2], 11, **window, bias=not norm, spec=spec, norm=norm, recompute=recompute)
    x = input_of(size, spikes)
    exact = x.detach().double().requires_grad_()
    expected, (weight, bias), reference = layers_apart(layer, exact)
    found = layer(x)
    assert torch.equal(found.double(), expected) and 0 < expected.mean() < 1
    upstream = drawn(*found.shape, seed=2)
    found.backward(upstream)
    expected.backward(upstream.double())
    pairs = [(x.grad, exact.grad), (layer.conv.weight.grad, weight.grad)]
    if norm:
        pairs += [
            (layer.norm.weight.grad, reference.weight.grad),
            (layer.norm.bias.grad, reference.bias.grad),
        ]
        pairs += [
            (layer.norm.running_mean, reference.running_mean),
            (layer.norm.running_var, reference.running_var),
        ]
    else:
        pairs += [(layer.conv.bias.grad, bias.grad)]
    assert max(relative(*pair) for pair in pairs) <= 5e-6


@pytest.mark.parametrize("norm", [True, False])
def test_what_is_planned_once_has_the_values_of_pieces(monkeypatch, norm):
    layer, x = ConvLIF(8, 19, 3, bias=not norm, norm=norm), input_of((5, 3, 8, 6, 5), True)
    upstream = drawn(5, 3, 19, 4, 3, seed=1)
    planned = run(layer, x, upstream)
    monkeypatch.setattr(autograd.ConvOptions, "plan", lambda options, *_: options)
    layer._plans.clear()
    in_pieces = run(layer, x, upstream)
    assert torch.equal(planned[0], in_pieces[0])
    assert all(relative(a, b) <= 1e-6 for a, b in zip(planned[1:], in_pieces[1:], strict=True))


def test_a_plan_serves_calls_of_its_kind_alone():
    layer, fresh = ConvLIF(8, 5, 3, bias=False, norm=True), ConvLIF(8, 5, 3, bias=False, norm=True)
    fresh.load_state_dict(layer.state_dict())

    def same(x):
        fresh._plans.clear()
        return torch.equal(layer(x), fresh(x))

    x = input_of((4, 3, 8, 6, 5), True)
    assert same(x) and same(x[:, :2]) and same(x[:, :, :, :5]) and same(x.detach() * 0.5)
    layer.norm.eps = fresh.norm.eps = 1.0
    assert same(x)
    with torch.no_grad():
        assert same(x)
    layer(x).sum().backward()
    assert len(layer._plans) == 6 and not copy.deepcopy(layer)._plans


@pytest.mark.parametrize("spikes", [True, False])
@pytest.mark.parametrize("shape", [(37, 3, 97), (1, 7, 5), (4, 5, 130)])
def test_a_linear_with_norm_and_neuron_equals_the_layers_apart(shape, spikes):
    torch.manual_seed(1)
    layer = LinearNormLIF(shape[2], 11, bias=False, spec=SPECS[1])
    x, exact = input_of(shape, spikes), input_of(shape, spikes).detach().double().requires_grad_()
    linear, norm = torch.nn.Linear(shape[2], 11, bias=False), torch.nn.BatchNorm1d(11)
    linear.load_state_dict(layer.linear.state_dict()), norm.load_state_dict(layer.norm.state_dict())
    apart = [linear.double(), norm.double()]
    currents = norm(linear(exact).flatten(0, 1)).unflatten(0, shape[:2])
    expected, found = LIF(layer.spec, backend="reference")(currents), layer(x)
    assert "ConvNeuron" in str(found.grad_fn.next_functions)
    assert torch.equal(found.double(), expected) and 0 < expected.mean() < 1
    upstream = drawn(*found.shape, seed=2)
    found.backward(upstream)
    expected.backward(upstream.double())
    wanted = [exact.grad, *(p.grad for module in apart for p in module.parameters())]
    pairs = [*zip([x.grad, *(p.grad for p in layer.parameters())], wanted, strict=True)]
    pairs += [(layer.norm.running_var, norm.running_var)]
    assert max(relative(*pair) for pair in pairs) <= 5e-6
    layer.eval(), norm.eval()
    with torch.no_grad():
        inferred = norm(linear(exact).flatten(0, 1)).unflatten(0, shape[:2])
    assert torch.equal(layer(x).double(), LIF(layer.spec, backend="reference")(inferred))


def test_a_weight_that_lies_channels_last_is_not_copied_nor_its_gradient():
    found = {}
    for layout in (torch.contiguous_format, torch.channels_last):
        torch.manual_seed(0)
        layer = ConvLIF(16, 8, 3, padding=1, bias=False, norm=True).to(memory_format=layout)
        x = input_of((4, 2, 16, 8, 8), True)
        layer(x)  # plans
        with torch.profiler.profile(record_shapes=True) as profile:
            layer(x).backward(drawn(4, 2, 8, 8, 8))
        copied = [event.input_shapes[0] for event in profile.events() if "copy_" in event.name]
        found[layout] = copied.count([8, 16, 3, 3]), x.grad, layer.conv.weight.grad
    (both, *gradients), (none, *same) = found.values()
    assert both == 2 and none == 0
    assert all(torch.equal(*pair) for pair in zip(gradients, same, strict=True))


def strided_gradients_by_pixels(call, x):
    """How many gradients by weights of one pixel torch computes with a stride: those in which
    oneDNN may write beyond its workspace, which is seen only by what it destroys."""
    with torch.profiler.profile(record_shapes=True, with_stack=False) as profile:
        call(x).sum().backward()
    calls = [event for event in profile.events() if event.name == "aten::convolution_backward"]
    assert calls
    return sum(
        max(event.concrete_inputs[4]) > 1 and event.concrete_inputs[-1][1] for event in calls
    )


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda *size, **window: ConvLIF(*size, **window), 0),
        (lambda *size, **window: Merged(alone.Conv2d(*size, **window)), 0),
        (lambda *size, **window: Merged(torch.nn.Conv2d(*size, **window)), 1),
    ],
    ids=["with a neuron", "alone", "torch's"],
)
def test_pixels_between_strides_never_reach_a_gradient_by_a_weight_of_one_pixel(make, count):
    size, window = SHAPES["every other pixel"]
    assert strided_gradients_by_pixels(make(size[2], 11, **window), drawn(*size)) == count


@pytest.mark.parametrize("kernel", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 3])
def test_taps_outside_of_all_images_change_nothing(kernel, stride, padding):
    for side in range(max(1, kernel - 2 * padding), 6):
        image, weight = drawn(2, 3, side, 4 + kernel), drawn(5, 3, kernel, kernel, seed=1)
        window = (stride, stride), (padding, padding)
        inside = strides.taps_inside(weight.shape[2:], image.shape[2:], *window)
        taps, fewer = inside.of(weight), inside.padding
        right = conv2d(image, weight, None, *window)
        assert relative(conv2d(image, taps, None, stride, fewer), right) <= 1e-6
        if (side, kernel, padding) == (1, 3, 1):
            assert taps.shape[2:] == (1, 3)
            whole = inside.whole(taps, weight.shape)
            assert whole.count_nonzero() == taps.count_nonzero()
            assert torch.equal(inside.of(whole), taps)


def run(layer, x, upstream):
    found = layer(x)
    found.backward(upstream)
    gradients = [x.grad, *(parameter.grad for parameter in layer.parameters())]
    x.grad = None
    layer.zero_grad()
    return [found.detach(), *gradients]


def test_a_second_backward_over_the_same_graph_is_the_same():
    layer, x = (
        ConvLIF(8, 5, 3, norm=True, bias=False, recompute=True),
        input_of((37, 2, 8, 5, 4), True),
    )
    spikes = layer(x)
    gradients = [
        torch.autograd.grad(spikes.sum(), [x, *layer.parameters()], retain_graph=True)
        for _ in range(2)
    ]
    assert all(torch.equal(*pair) for pair in zip(*gradients, strict=True))


def test_a_second_derivative_is_refused():
    layer, x = ConvLIF(3, 5, 3), input_of((4, 2, 3, 5, 4), False)
    with pytest.raises(
        RuntimeError, match="no second derivative: ConvLIF cannot be differentiated twice"
    ):
        torch.autograd.grad(layer(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("what", ["weight", "input", "all but the input", "nothing"])
def test_only_what_needs_a_gradient_gets_one(what):
    layer, x = ConvLIF(3, 5, 3, recompute=True), input_of((4, 2, 3, 5, 4), False)
    everything = run(layer, x, torch.ones(4, 2, 5, 3, 2))
    frozen = {
        "weight": [layer.conv.weight],
        "input": [x],
        "all but the input": [*layer.parameters()],
        "nothing": [],
    }[what]
    for tensor in frozen:
        tensor.requires_grad_(False)
    found = run(layer, x, torch.ones(4, 2, 5, 3, 2))
    wanted = [None, x, *layer.parameters()]
    for tensor, gradient, expected in zip(wanted, found, everything, strict=True):
        frozen_one = any(tensor is other for other in frozen)
        assert gradient is None if frozen_one else torch.equal(gradient, expected)


@pytest.mark.parametrize("norm", representatives([True, False], []))
def test_what_is_not_computed_as_one_has_the_same_values(norm):
    x = input_of((6, 3, 3, 7, 5), False)
    layer = ConvLIF(3, 8, 3, bias=not norm, spec=NeuronSpec("hard"), norm=norm)
    twin = ConvLIF(3, 8, 3, bias=not norm, spec=NeuronSpec("hard"), norm=norm)
    twin.load_state_dict(layer.state_dict())
    upstream = drawn(6, 3, 8, 5, 3, seed=1)
    together = run(layer, x, upstream)
    apart = run(torch.compile(twin, fullgraph=True, backend="aot_eager"), x, upstream)
    assert torch.equal(together[0], apart[0])
    assert all(relative(a, b) <= 1e-5 for a, b in zip(together[1:], apart[1:], strict=True))
    layer.eval(), twin.eval()
    assert torch.equal(layer(x), torch.compile(twin, backend="aot_eager")(x))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer.double()(x.double()).dtype == torch.float64


def test_a_norm_behind_a_bias_keeps_its_running_mean():
    torch.manual_seed(0)
    layer = ConvLIF(3, 5, 3, bias=True, norm=True)
    with torch.no_grad():
        layer.conv.bias += 7
    x = input_of((6, 3, 3, 7, 5), False)
    _, _, reference = layers_apart(layer, x.double())
    layer(x)
    assert relative(layer.norm.running_mean, reference.running_mean) <= 1e-6


def test_recompute_keeps_bits_of_spikes_and_no_currents_of_few_products():
    spikes, colours = input_of((10, 4, 16, 8, 8), True), input_of((10, 4, 3, 8, 8), False)
    numbers = 10 * 4 * 32 * 8 * 8 * 4
    behind = ConvLIF(16, 32, 3, padding=1, bias=False, norm=True, recompute=True)
    first = ConvLIF(3, 32, 3, padding=1, bias=False, norm=True, recompute=True)
    assert saved_bytes(behind, spikes) < numbers + spikes.numel() // 8 + 30_000
    assert saved_bytes(first, colours) < colours.nbytes + 10_000
    behind.recompute = first.recompute = False
    assert saved_bytes(behind, spikes) < numbers + spikes.numel() // 8 + 30_000
    assert saved_bytes(first, colours) > numbers + colours.nbytes


def test_spikes_that_were_written_to_stay_numbers():
    torch.manual_seed(0)
    layer, x = ConvLIF(8, 5, 3, recompute=True), (drawn(4, 2, 8, 5, 4) > 0.3).float()
    mark(x, 1)
    x.mul_(0.5)
    layer(x).sum().backward()
    found = layer.conv.weight.grad.clone()
    layer.zero_grad()
    layer.recompute = False
    layer(x).sum().backward()
    assert relative(found, layer.conv.weight.grad) <= 1e-6


def test_channels_lie_side_by_side_from_layer_to_layer():
    first, second = ConvLIF(3, 8, 3), ConvLIF(8, 5, 3)
    spikes = first(input_of((4, 2, 3, 9, 8), False))
    assert spikes.permute(0, 1, 3, 4, 2).is_contiguous() and second(spikes).shape == (4, 2, 5, 5, 4)


def test_it_loads_what_the_layers_apart_saved():
    conv, norm = torch.nn.Conv2d(3, 5, 3), torch.nn.BatchNorm2d(5)
    layer = ConvLIF(3, 5, 3, norm=True)
    layer.conv.load_state_dict(conv.state_dict())
    layer.norm.load_state_dict(norm.state_dict())
    assert torch.equal(layer.conv.weight, conv.weight)
    with pytest.raises(ValueError, match="more than one value a channel"):
        layer(torch.randn(1, 1, 3, 3, 3))
