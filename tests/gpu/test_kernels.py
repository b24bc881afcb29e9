"""The kernels on a GPU. All tests are skipped where there is none."""

import copy

import pytest
import torch
from support import linear_layers, tensor_core
from support.neurons import (
    KINDS,
    RESETS,
    Network,
    currents_of,
    gradients_of,
    label,
    options,
    relative,
)

from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.kernels.lif.operator import lif_op
from snnbench.kernels.linear_lif.split_formats import TIERS, Split
from snnbench.kernels.linear_lif.split_products import PROMOTED, product

DEVICE, BACKENDS = "cuda", ("reference", "triton", "cuda")
SHORT = (torch.float16, torch.bfloat16)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def here(*shape, **given):
    return currents_of(*shape, **given).to(DEVICE)


def called(spec, backend, **given):
    return lambda x, *state: lif(
        x, spec, state=state[0] if state else None, trace=True, backend=backend, **given
    )


def assert_same_bits(actual, expected):
    for got, wanted in zip(actual, expected, strict=True):
        assert torch.equal(got.detach().cpu(), wanted.detach().cpu())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("spec", KINDS, ids=label)
def test_bits_of_the_reference_on_the_cpu_and_gradients_of_float64(spec, backend):
    x, state = currents_of(67, 3, 97), currents_of(3, 97, seed=2)
    actual, gradients = gradients_of(called(spec, backend), x.to(DEVICE), state.to(DEVICE))
    assert_same_bits(actual, gradients_of(called(spec, "reference"), x, state)[0])
    _, exact = gradients_of(called(spec, "reference"), x.double(), state.double())
    for got, expected in zip(gradients, exact, strict=True):
        assert relative(got.cpu(), expected) <= 1e-6


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", SHORT, ids=str)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 7), (33, 3, 97), (100, 16, 512)], ids=str)
def test_short_storage_and_sizes(shape, dtype, backend):
    x = currents_of(*shape, dtype=dtype)
    actual, gradients = gradients_of(called(NeuronSpec(), backend), x.to(DEVICE))
    expected, wanted = gradients_of(called(NeuronSpec(), "reference"), x)
    assert_same_bits(actual, expected)
    for got, exact in zip(gradients, wanted, strict=True):
        assert relative(got.cpu(), exact) <= torch.finfo(dtype).eps


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("spec", RESETS, ids=label)
def test_pieces_have_the_bits_of_the_whole(spec, backend):
    x = here(67, 3, 97)
    whole, final, trace = lif(x, spec, trace=True, backend=backend)
    first, state, early = lif(x[:30], spec, trace=True, backend=backend)
    rest, last, late = lif(x[30:], spec, state=state, trace=True, backend=backend)
    assert_same_bits(
        [torch.cat([first, rest]), last, torch.cat([early, late])], [whole, final, trace]
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_strides_and_an_expanded_gradient(backend):
    dense = here(37, 3, 97).requires_grad_()
    turned = dense.detach().permute(2, 0, 1).contiguous().permute(1, 2, 0).requires_grad_()
    for x in (dense, turned):
        lif(x, backend=backend).spikes.backward(torch.ones((), device=DEVICE).expand(37, 3, 97))
    assert torch.equal(dense.grad, turned.grad) and dense.grad.abs().sum() > 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [10.0, -10.0, float("nan"), float("inf")])
def test_all_or_no_spikes_and_what_is_no_number(value, backend):
    x = torch.full((37, 3, 97), value)
    assert_same_bits(
        [lif(x.to(DEVICE), backend=backend).spikes], [lif(x, backend="reference").spikes]
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 0, 7), (5, 3, 0)])
def test_empty_batches(shape, backend):
    x = torch.zeros(shape, device=DEVICE, requires_grad=True)
    lif(x, backend=backend).spikes.sum().backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [torch.uint8, "bits", torch.bfloat16])
def test_kinds_of_spikes(kind, backend):
    x = currents_of(37, 3, 97)
    actual = lif(x.to(DEVICE), spikes_dtype=kind, backend=backend).spikes
    assert_same_bits([actual], [lif(x, spikes_dtype=kind, backend="reference").spikes])


@pytest.mark.parametrize("backend", BACKENDS)
def test_opcheck(backend):
    x, state = here(37, 3, 5).requires_grad_(), here(3, 5, seed=2).requires_grad_()
    torch.library.opcheck(lif_op, (x, state, None, None, *options(backend, trace=True)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_batch_norm(backend):
    shape = (37, 3, 11)
    x, upstream = 3 + 2 * currents_of(*shape, seed=5), currents_of(*shape, seed=6)
    results = []
    for place, dtype, name in (
        (DEVICE, torch.float32, backend),
        ("cpu", torch.float64, "reference"),
    ):
        layer = BatchNormLIF(11, backend=name).to(place, dtype)
        leaf = x.detach().to(place, dtype, copy=True).requires_grad_()
        spikes = layer(leaf)
        spikes.backward(upstream.to(spikes))
        results.append(
            [
                spikes,
                leaf.grad,
                layer.weight.grad,
                layer.bias.grad,
                layer.running_mean,
                layer.running_var,
            ]
        )
    for got, exact in zip(*results, strict=True):
        assert relative(got.detach().cpu(), exact.detach()) <= 3e-6


def test_compiled_whole_it_is_the_same():
    x = 3 * here(37, 3, 9)
    results = []
    for build in (lambda m: m, lambda m: torch.compile(m, fullgraph=True)):
        network = Network().to(DEVICE)
        out = build(network)(x)
        results.append([out, *torch.autograd.grad(out.sum(), list(network.parameters()))])
    for plain, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)


MODULES = {
    "neuron": lambda: LIF(),
    "neuron in CUDA": lambda: LIF(backend="cuda"),
    "layer": lambda: LinearLIF(97, 97),
    "split layer": lambda: LinearLIF(97, 97, tier="fp32", input="spikes"),
    "layer that keeps bits": lambda: LinearLIF(97, 97, recompute=True, input="spikes"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_graph_of_forward_and_backward_replays_with_other_input(name):
    torch.manual_seed(0)
    module = MODULES[name]().to(DEVICE)
    upstream = here(37, 3, 97, seed=3)
    inputs = [(here(37, 3, 97, seed=seed) > 0.2).float() for seed in (4, 5)]
    x = inputs[0].clone().requires_grad_()
    leaves = [x, *module.parameters()]

    def step():
        spikes = module(x)
        return [spikes, *torch.autograd.grad(spikes, leaves, upstream.to(spikes.dtype))]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    with torch.no_grad():
        x.copy_(inputs[1])
    graph.replay()
    torch.cuda.synchronize()
    replayed = [tensor.detach().clone() for tensor in captured]
    for got, expected in zip(replayed, step(), strict=True):
        torch.testing.assert_close(got, expected.detach(), rtol=1e-5, atol=1e-5)
    assert replayed[0].sum() > 0


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("options", [{}, {"recompute": True}], ids=["saved", "recomputed"])
def test_tiers_keep_to_float64(tier, options):
    layer = linear_layers.layer(tier=tier, input="spikes", **options).to(DEVICE)
    exact = linear_layers.results(
        copy.deepcopy(layer).cpu().double(), linear_layers.spikes_in().double()
    )
    actual = linear_layers.results(layer, linear_layers.spikes_in().to(DEVICE))
    for got, expected in zip(actual[1:], exact[1:], strict=True):
        assert linear_layers.relative(got.cpu(), expected) <= linear_layers.TOLERANCE[tier]


@pytest.mark.parametrize("inputs", [512, 4096])
def test_currents_of_the_fp32_tier_are_no_worse_than_cublas(inputs):
    """The library's products and our own in Triton against float64, compared with cuBLAS in float32
    without TF32.

    Rounding differs between any two methods, so an error of 1.5 times that of cuBLAS counts as no
    worse.
    """
    from snnbench.kernels.linear_lif.triton_gemm import spike_product

    torch.backends.cuda.matmul.allow_tf32 = False
    spikes, weight = tensor_core.spikes(37 * 3, inputs), tensor_core.matrix("normal", 97, inputs)
    exact = spikes.double() @ weight.double().t()
    tier = TIERS["fp32"]
    given, split = spikes.to(DEVICE, tier.dtype), tier.split(weight.to(DEVICE))
    cublas = relative((spikes.to(DEVICE) @ weight.to(DEVICE).t()).cpu(), exact)
    assert relative(product(Split((given,)), split, PROMOTED).cpu(), exact) <= 1.5 * cublas
    assert relative(spike_product(given, split).cpu(), exact) <= 1.5 * cublas
