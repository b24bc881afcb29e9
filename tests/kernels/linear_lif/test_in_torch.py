"""LinearLIF among other layers, and as torch sees it: operators, compilers, autocast, errors."""

import pytest
import torch
from support.linear_layers import (
    BATCH,
    INPUTS,
    NEURONS,
    TIMES,
    UPSTREAM,
    empty_cache,  # noqa: F401 a fixture of every test
    layer,
    results,
    spikes_in,
)
from support.slow import representatives

from snnbench.kernels import LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.kernels.linear_lif import functional, operator, split_cache
from snnbench.kernels.linear_lif.contract import LinearOptions
from snnbench.kernels.linear_lif.split_formats import TIERS
from snnbench.kernels.spike_marks import most_spikes

# -- between layers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tier", "spikes"), [("fp32", torch.float16), ("tf32", torch.float16), ("bf16", torch.bfloat16)]
)
@pytest.mark.parametrize("recompute", [False, True])
def test_layers_hand_on_short_spikes_and_gradients_of_the_tier(
    monkeypatch, tier, spikes, recompute
):
    seen = []
    real = operator.passes.backward
    monkeypatch.setattr(
        operator.passes,
        "backward",
        lambda *given: (seen.append((given[4].dtype, float(given[4].abs().max()))), real(*given))[
            1
        ],
    )
    options = {"tier": tier, "emulate": True, "recompute": recompute}
    first = layer(input="spikes", spikes_dtype=spikes, **options)
    second = LinearLIF(NEURONS, 5, **options)
    between = first(spikes_in())
    assert between.dtype == spikes and most_spikes(between) == 1
    second(between).backward(torch.full((TIMES, BATCH, 5), 1e-8))
    assert (
        seen[1][0] == (torch.bfloat16 if tier == "bf16" else torch.float32)
        and 0 < seen[1][1] < 1e-6
    )
    assert (
        first.linear.weight.grad.dtype == torch.float32 and first.linear.weight.grad.abs().sum() > 0
    )


# -- torch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("recompute", [False, True])
def test_plain_calls_and_the_operator_give_the_same_bits(monkeypatch, tier, recompute):
    options = {"tier": tier, "emulate": tier is not None, "input": "spikes", "recompute": recompute}
    plain = results(layer(**options), spikes_in())
    monkeypatch.setattr(functional.autograd, "suffices", lambda tensors: False)
    assert all(
        torch.equal(a, b)
        for a, b in zip(plain, results(layer(**options), spikes_in()), strict=True)
    )


OPCHECKS = [
    (tier, recompute, counts, bias)
    for tier in (None, "fp32", "tf32", "bf16")
    for recompute, counts in ((False, 1), (True, 0), (True, 1), (True, 3))
    for bias in (False, True)
]


@pytest.mark.parametrize(
    ("tier", "recompute", "counts", "bias"),
    representatives(OPCHECKS, quick=(0, 14, 31)),
)
def test_opcheck(tier, recompute, counts, bias):
    shape = (spikes_in().shape, (NEURONS, INPUTS), torch.float32, torch.device("cpu"))
    options = functional.options_of(
        NeuronSpec(), *shape, counts, None, True, None, tier, True, recompute
    )
    module, x = layer(), spikes_in().requires_grad_()
    arguments = (x, module.linear.weight, module.linear.bias if bias else None)
    torch.library.opcheck(operator.linear_lif_op, (*arguments, *options.arguments()))
    spikes, *saved = (t.detach() for t in operator.linear_lif_op(*arguments, *options.arguments()))
    arguments = [None if t is None else t.detach() for t in arguments]
    arguments[0] = None if options.packs else arguments[0]
    upstream = UPSTREAM.to(spikes.dtype)
    backward_arguments = (*arguments, *saved, upstream, [True, True, bias], *options.arguments())
    torch.library.opcheck(operator.linear_lif_backward_op, backward_arguments)


class Two(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first = layer(input="spikes", **options)
        self.second = LinearLIF(NEURONS, 5, input="spikes", **options)

    def forward(self, x):
        return self.second(self.first(x))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    representatives(
        [
            {},
            {"recompute": True},
            {"tier": "fp32", "emulate": True},
            {"tier": "tf32", "emulate": True, "recompute": True},
        ],
        [1],
    ),
    ids=str,
)
def test_compile_without_graph_breaks_gives_the_same(options):
    actual = []
    for build in (lambda m: m, lambda m: torch.compile(m, fullgraph=True)):
        torch._dynamo.reset()
        split_cache.forget()
        module, x = Two(**options), spikes_in().requires_grad_()
        spikes = build(module)(x)
        spikes.backward(torch.arange(5.0).expand_as(spikes))
        actual.append([spikes, x.grad, *(p.grad for p in module.parameters())])
    for plain, compiled in zip(*actual, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)
    assert actual[0][0].sum() > 0


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
    (gradient,) = torch.autograd.grad(
        module(spikes_in()).sum(), module.linear.weight, create_graph=True
    )
    with pytest.raises(RuntimeError, match="no second derivative"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("options", "x", "error", "message"),
    [
        (
            {"tier": "fp8"},
            None,
            ValueError,
            "tier = 'fp8' is not one of fp32, fp32-pair, tf32, bf16",
        ),
        ({"input": "sparse"}, None, ValueError, "input = 'sparse' is not"),
        ({"input_counts": 0}, None, ValueError, "input_counts = 0 must be"),
        (
            {},
            torch.zeros(5, 3, 7),
            ValueError,
            r"inputs \(5, 3, 7\) do not fit a weight \(33, 45\)",
        ),
        (
            {},
            torch.zeros(45),
            ValueError,
            r"inputs need the shape \(time_steps, …, 45\), not \(45,\)",
        ),
        (
            {},
            torch.zeros(5, 3, 45).half(),
            TypeError,
            "a dense input of torch.float16 does not fit a weight of torch.float32",
        ),
        (
            {"spikes_dtype": "bits"},
            torch.zeros(5, 3, 45),
            TypeError,
            "the next layer takes numbers",
        ),
        ({"backend": "metal"}, torch.zeros(5, 3, 45), ValueError, "backend = 'metal'"),
    ],
)
def test_what_does_not_fit_is_named(options, x, error, message):
    with pytest.raises(error, match=message):
        layer(**options)(x)


def test_options_survive_their_text():
    shape = ((5, 3, INPUTS), (NEURONS, INPUTS), torch.float32, torch.device("cpu"))
    given = functional.options_of(
        NeuronSpec("hard"), *shape, 3, None, True, None, "fp32-pair", True, True
    )
    assert LinearOptions.of(*given.arguments()) == given
