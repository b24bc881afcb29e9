"""BatchNorm and neuron as one operator, against `nn.BatchNorm` followed by the reference neuron."""

from itertools import product

import pytest
import torch
from support.slow import representatives

from snnbench.kernels import LIF, BatchNormLIF, NeuronSpec

SPECS = [NeuronSpec(), NeuronSpec("hard"), NeuronSpec("hard", detach_reset=True)]


def input_of(*shape, mean=3.0, seed=0):
    return mean + 2 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def apart(shape, spec, dtype):
    """`nn.BatchNorm` over (T·B, C, …), then the neuron, as a function of x."""
    kinds = {3: torch.nn.BatchNorm1d, 5: torch.nn.BatchNorm2d, 6: torch.nn.BatchNorm3d}
    norm, neuron = kinds[len(shape)](shape[2]).to(dtype), LIF(spec, backend="reference")
    return norm, lambda x: neuron(norm(x.flatten(0, 1)).unflatten(0, x.shape[:2]))


def relative(actual, expected):
    return ((actual.double() - expected.double()).norm() / expected.double().norm()).item()


def run(norm, module, shape, dtype):
    """Outputs and gradients of two training calls and one in eval mode, and the running
    statistics after them."""
    outputs = []
    for seed in (3, 4):
        x = input_of(*shape, seed=seed).to(dtype).requires_grad_()
        norm.zero_grad()
        spikes = module(x)
        spikes.backward(torch.randn(shape, generator=torch.Generator().manual_seed(5)).to(dtype))
        outputs += [spikes.detach(), x.grad, norm.weight.grad.clone(), norm.bias.grad.clone()]
    norm.eval()
    outputs.append(module(input_of(*shape).to(dtype)).detach())
    return outputs, norm.running_mean, norm.running_var, norm.num_batches_tracked


@pytest.mark.parametrize("spec", representatives(SPECS, [1]), ids=lambda spec: spec.label())
@pytest.mark.parametrize(
    "shape", [(37, 3, 11), (5, 3, 7, 4, 5), (4, 1, 3, 2, 3, 5), (40, 2, 1)], ids=str
)
@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_equal_to_both_apart(backend, shape, spec):
    together = BatchNormLIF(shape[2], spec, backend=backend)
    with torch.no_grad():
        together.weight.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(1))
        together.bias.normal_(generator=torch.Generator().manual_seed(2))
    norm, separate = apart(shape, spec, torch.float64)
    norm.load_state_dict(
        {k: v.double() if v.is_floating_point() else v for k, v in together.state_dict().items()}
    )
    results = [
        run(together, together, shape, torch.float32),
        run(norm, separate, shape, torch.float64),
    ]
    (actual, *running), (exact, *exact_running) = results
    assert torch.equal(actual[0].double(), exact[0]) and torch.equal(actual[4].double(), exact[4])
    assert torch.equal(actual[-1].double(), exact[-1]) and 0 < exact[0].mean() < 1
    for got, expected in zip(actual[1:4] + actual[5:8], exact[1:4] + exact[5:8], strict=True):
        assert (
            relative(got, expected) <= 4e-6
        )  # of 80 terms that cancel to one number; the reference has 2.8e-6
    for got, expected in zip(running, exact_running, strict=True):
        assert relative(got, expected) <= 1e-6


def test_currents_far_from_zero_keep_their_gradient():
    # the mean is 1000 standard deviations away: sums of e·x alone would cancel
    x = (1000 + torch.randn(33, 4, 6, generator=torch.Generator().manual_seed(0))).requires_grad_()
    exact = x.detach().double().requires_grad_()
    upstream = torch.randn(33, 4, 6, generator=torch.Generator().manual_seed(1))
    together = BatchNormLIF(6, backend="cpp")
    norm, separate = apart(x.shape, NeuronSpec(), torch.float64)
    spikes, expected = together(x), separate(exact)
    assert (spikes != expected).double().mean() < 1e-3
    spikes.backward(upstream)
    expected.backward(upstream.double())
    if torch.equal(spikes.double(), expected):
        assert relative(together.weight.grad, norm.weight.grad) <= 1e-3


def test_any_order_in_memory_and_any_channel():
    x = input_of(37, 3, 5, 4)
    plain = BatchNormLIF(5)(x)
    assert torch.equal(BatchNormLIF(5)(x.transpose(0, 3).contiguous().transpose(0, 3)), plain)
    assert torch.equal(BatchNormLIF(5, channel_dim=-1)(x.transpose(2, 3)).transpose(2, 3), plain)


def test_momentum_none_averages_and_no_running_statistics_use_the_batch():
    averaging, standard = BatchNormLIF(5, momentum=None), torch.nn.BatchNorm1d(5, momentum=None)
    for seed in range(3):
        x = input_of(7, 3, 5, seed=seed)
        averaging(x), standard(x.flatten(0, 1))
    assert relative(averaging.running_var, standard.running_var) <= 1e-6
    without = BatchNormLIF(5, track_running_stats=False).eval()
    assert torch.equal(without(x), BatchNormLIF(5)(x))


def test_the_first_layer_needs_no_second_scan(monkeypatch):
    from snnbench.kernels.lif.cpu import launch

    scans, real = [], launch.backward
    monkeypatch.setattr(
        launch, "backward", lambda call: (scans.append(call.mix_error is not None), real(call))
    )
    module = BatchNormLIF(5, backend="cpp")
    module(input_of(7, 3, 5)).sum().backward()
    assert scans == [False]
    module(input_of(7, 3, 5).requires_grad_()).sum().backward()
    assert scans == [False, False, True]


def test_what_cannot_be_normalised_is_refused_before_anything_changes():
    module = BatchNormLIF(9)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with pytest.raises(ValueError, match="more than one value a channel"):
        module(torch.randn(1, 1, 9))
    with pytest.raises(ValueError, match=r"currents \(3, 2, 5\) need 9 channels in dim 2"):
        module(torch.randn(3, 2, 5))
    module(torch.randn(5, 0, 9, requires_grad=True)).sum().backward()
    assert (module.weight.grad == 0).all()
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_state_goes_in_and_out():
    module = BatchNormLIF(5, return_state=True).eval()
    x = input_of(40, 3, 5)
    whole, head = module(x), module(x[:17])
    tail = module(x[17:], head.state)
    assert torch.equal(torch.cat([head.spikes, tail.spikes]), whole.spikes)
    assert torch.equal(tail.state, whole.state)


@pytest.mark.parametrize(
    ("trace", "spikes_dtype"),
    representatives(list(product([False, True], [None, torch.uint8])), []),
)
def test_plain_calls_and_the_operator_give_the_same_bits(monkeypatch, trace, spikes_dtype):
    results = []
    for plainly in (True, False):
        if not plainly:
            monkeypatch.setattr(
                "snnbench.kernels.batch_norm_lif.module.suffices", lambda tensors: False
            )
        layer = BatchNormLIF(
            11, SPECS[1], trace=trace, return_state=True, spikes_dtype=spikes_dtype
        )
        x, state = input_of(37, 3, 11).requires_grad_(), input_of(3, 11, seed=1).requires_grad_()
        out = layer(x, state)
        loss = out.state.sum() + (out.trace.square().sum() if trace else 0)
        loss = loss if spikes_dtype else loss + (out.spikes * torch.arange(11.0)).sum()
        loss.backward(retain_graph=True)
        results.append(
            [*out, x.grad, state.grad, layer.weight.grad, layer.bias.grad, *layer.buffers()]
        )
        assert ("NormalisedNeuron" in out.state.grad_fn.name()) == plainly
        with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
            torch.autograd.grad(loss, x, create_graph=True)[0].sum().backward()
    for plain, operator in zip(*results, strict=True):
        assert plain is operator is None or torch.equal(plain, operator)
