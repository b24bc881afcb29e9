"""Products that skip the zeros of spikes, with the neuron behind them: sizes, strides, values,
threads, instruction sets."""

from dataclasses import replace
from functools import lru_cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.compiled import forget
from support.linear_products import Problem, check, results
from support.neurons import KINDS, RESETS, label, relative, saved_bytes
from support.slow import representatives

from snnbench.kernels import LinearLIF, NeuronSpec, SpikesLinear
from snnbench.kernels.build import cpp
from snnbench.kernels.lif import lif
from snnbench.kernels.linear import dense, record

problems = st.builds(
    Problem,
    steps=st.integers(1, 40),
    batch=st.integers(1, 9),
    inputs=st.integers(1, 200),
    neurons=st.integers(1, 150),
    rate=st.sampled_from([0.02, 0.15, 0.5, 1.0]),
    counts=st.sampled_from([1, 1, 3, 255]),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)


def laid_out(x: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers with other strides."""
    if layout == "batch first":
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "inputs first":
        return x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    return torch.stack([x, -x], -1)[..., 0] if layout == "every second" else x


@settings(
    derandomize=True, deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
@given(problems, st.sampled_from(["rows", "batch first", "inputs first", "every second"]))
def test_any_sizes_and_strides(problem, layout):
    check(problem.layer(), laid_out(problem.input(), layout), laid_out(problem.upstream(), layout))


@pytest.mark.parametrize("spec", representatives(KINDS, quick=(0, 2, len(RESETS))), ids=label)
def test_every_neuron(spec):
    check(Problem(spec=spec).layer(), Problem().input(), Problem().upstream())


@pytest.mark.parametrize("counts", [1, 2, 7])
@pytest.mark.parametrize("rate", [0.02, 0.15, 0.9])
def test_long_times_in_chunks(rate, counts):
    """Rows of several chunks, a part of a last one, and more than one table of inputs and
    outputs."""
    problem = Problem(steps=431, batch=5, inputs=301, neurons=131, rate=rate, counts=counts)
    check(problem.layer(), problem.input(), problem.upstream())


@pytest.mark.parametrize("neurons", [64, 67])
def test_results_larger_than_caches(neurons):
    """Spikes go past the caches, and the potentials' lines are fetched ahead of their run, also
    behind the last one."""
    problem = Problem(steps=90, batch=97, inputs=33, neurons=neurons)
    check(problem.layer(), problem.input(), problem.upstream())


def test_chunks_begin_within_a_step():
    problem = Problem(steps=2, batch=701, inputs=70, neurons=70)
    check(problem.layer(), problem.input(), problem.upstream())


@pytest.mark.slow
@pytest.mark.parametrize("given_type", [torch.bfloat16, torch.float16, torch.uint8])
def test_short_spikes_and_float32_weights(given_type):
    problem = Problem()
    layer, x = problem.layer(), problem.input()
    assert torch.equal(layer(x.to(given_type)), layer(x))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("recompute", [False, True])
def test_short_weights(dtype, recompute):
    """Sums are float32 and rounded once, as the library's; gradients are rounded to the type."""
    problem = Problem(dtype=dtype, counts=2)
    layer, x = problem.layer(recompute=recompute), problem.input()
    currents = (x.double() @ layer.linear.weight.double().t()).to(dtype)
    assert torch.equal(layer(x), lif(currents, shift=layer.linear.bias, backend="reference").spikes)
    exact = results(layer.double(), x.double(), problem.upstream().to(dtype).double())
    for name, actual in results(layer.to(dtype), x, problem.upstream().to(dtype)).items():
        assert float((actual.double() - exact[name]).norm() / exact[name].norm()) <= 0.1


def test_sums_in_another_order_decide_otherwise_only_at_the_threshold():
    problem = Problem(steps=100, batch=16, inputs=512, neurons=64)
    layer, x = problem.layer(), problem.input()
    torch.nn.init.normal_(layer.linear.weight, std=0.2)
    actual = layer(x)
    currents = (x.double() @ layer.linear.weight.double().t()).detach()
    exact = lif(currents, shift=layer.linear.bias.double(), trace=True, backend="reference")
    first = (actual != exact.spikes).int().cumsum(
        0
    ) == 1  # later differences of a neuron follow from its first
    assert (exact.trace[first & (actual != exact.spikes)] - 1).abs().le(1e-5).all()
    assert (actual != exact.spikes).float().mean() < 1e-4


def test_gradients_that_are_expanded_and_second_calls():
    problem = Problem()
    layer, x = problem.layer(), problem.input().requires_grad_()
    check(layer, x.detach(), torch.ones(()).expand(37, 3, 45))
    spikes = layer(x)
    first, second = (
        torch.autograd.grad(spikes, [x, *layer.parameters()], problem.upstream(), retain_graph=True)
        for _ in "ab"
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("rate", [0.15, 0.6])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, rate):
    monkeypatch.setattr(dense, "WORK_OF_A_THREAD", 1)
    problem, before = (
        Problem(steps=301, batch=5, inputs=261, neurons=261, rate=rate),
        torch.get_num_threads(),
    )
    one, *others = [], [], []
    try:
        for threads, into in zip((1, 2, 3), (one, *others), strict=True):
            forget()
            torch.set_num_threads(threads)
            into.append(results(problem.layer(), problem.input(), problem.upstream()))
    finally:
        torch.set_num_threads(before)
        forget()
    for other in others:
        assert all(torch.equal(other[0][name], result) for name, result in one[0].items())


# -- what is no spike ------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", representatives([1, 3], [0]))
@pytest.mark.parametrize("value", [0.5, -1.0, 4.0, 1e9, torch.nan, torch.inf])
@pytest.mark.parametrize("recompute", [False, True])
def test_a_wrong_declaration_is_multiplied_densely(value, counts, recompute):
    problem = Problem(counts=counts)
    x, dense_layer = (
        problem.input(),
        LinearLIF.of(problem.layer().linear, problem.spec, input="dense", recompute=recompute),
    )
    x[30, 1, 96] = value
    actual = results(problem.layer(recompute=recompute), x, problem.upstream())
    for name, right in results(dense_layer, x, problem.upstream()).items():
        torch.testing.assert_close(actual[name], right, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert _last(problem).product == "dense" and _last(problem).share is None


def _last(problem: Problem) -> record.Ran:
    return next(
        ran
        for ran in record.products()
        if (ran.inputs, ran.neurons) == (problem.inputs, problem.neurons)
    )


@pytest.mark.parametrize(
    ("steps", "rate", "product"),
    [
        (37, 0.02, "event"),
        (37, 0.15, "event"),
        (37, 0.5, "table"),
        (37, 1.0, "table"),
        (1, 1.0, "event"),
    ],
)
def test_the_record_names_the_product_and_the_firing_rate(steps, rate, product):
    problem = Problem(steps=steps, rate=rate, inputs=64, neurons=22 + steps)
    x = problem.input()
    problem.layer()(x)
    assert (_last(problem).product, _last(problem).share) == (product, float(x.double().mean()))


def test_facts_name_all_products_and_the_mean_rate(monkeypatch):
    monkeypatch.setattr(record, "_ran", {})
    monkeypatch.setattr(dense, "choices", lru_cache(lambda: {"rows": "tile", "columns": "blas"}))
    assert record.facts() == {}
    record.of((50, 2, 64), 7, 1).ones = 1280
    record.of((1, 2, 64), 7, 1).ones = 1280
    record.of((50, 2, 64), 8, 1).ones = 2560
    record.of((50, 2, 64), 9, 1)
    assert record.facts() == {"product": "event, table", "product_rate": pytest.approx(0.3)}
    dense.choices()
    record.of((50, 2, 64), 7, 1).ones = -1
    assert record.facts() == {
        "product": "table, dense by tile, blas",
        "product_rate": pytest.approx(0.4),
    }


def test_an_infinite_weight_is_left_out_where_it_is_not_selected():
    problem = Problem()
    layer, x = problem.layer(), problem.input()
    x[..., 7] = 0
    before = layer(x)
    with torch.no_grad():
        layer.linear.weight[:, 7] = torch.inf
    assert torch.equal(layer(x), before)


# -- other processors, planted faults --------------------------------------------------------------


def test_other_instruction_sets_give_the_same_bits(compile_for_other_processor):
    problems = [
        Problem(inputs=261, neurons=131, rate=rate, counts=counts)
        for rate, counts in ((0.1, 1), (0.6, 1), (0.2, 3))
    ]
    native = [results(p.layer(), p.input(), p.upstream()) for p in problems]
    compile_for_other_processor()
    for problem, right in zip(problems, native, strict=True):
        actual = check(problem.layer(), problem.input(), problem.upstream())
        assert all(torch.equal(actual[name], right[name]) for name in ("spikes", "weight", "bias"))


FAULTS = {
    "the last of four rows is left out": ("odd[v] += load(r3 + v * LANES);", "", 0.1),
    "a list is cut short": (
        "count[item] = (uint8_t)((found + 3) / 4);",
        "count[item] = (uint8_t)(found / 4);",
        0.1,
    ),
    "a table has a wrong sum": (
        "sums[(1 << i) + j] = sums[j] + row;",
        "sums[(1 << i) + j] = row;",
        0.6,
    ),
    "the state is not carried on": ("p[j] = neuron.decay * error;", "", 0.1),
    "the second chunk of time begins anew": (
        "const bool begin = row + most >= rows &&",
        "const bool begin =",
        0.1,
    ),
    "the bias is left out": ("sum[j] + shift[j]", "sum[j]", 0.1),
    "a run of rows reads the sums of the first": (
        "to - from, sums + from * BLOCK",
        "to - from, sums",
        0.1,
    ),
}


@pytest.mark.parametrize("fault", representatives(FAULTS, [0]))
def test_planted_faults_are_seen(plant, compiled_anew, fault):
    right, wrong, rate = FAULTS[fault]
    problem = Problem(steps=401, batch=3, inputs=150, rate=rate)
    check(problem.layer(), problem.input(), problem.upstream())
    forget()
    plant(cpp, right, wrong, "spikes.cpp")
    with pytest.raises(AssertionError, match=r"differ|gradient by"):
        check(problem.layer(), problem.input(), problem.upstream())


def test_a_product_that_took_any_number_for_a_spike_would_be_seen(plant, compiled_anew):
    plant(cpp, "return strange_rows ? -1 : ones;", "return ones;", "spikes.cpp")
    with pytest.raises(AssertionError):
        test_a_wrong_declaration_is_multiplied_densely(0.5, 1, False)


# -- memory ----------------------------------------------------------------------------------------


def test_forward_keeps_the_potentials_and_the_input_as_bits():
    problem = Problem()
    layer, x, saved = problem.layer(), problem.input(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t), t)[1], lambda t: t):
        spikes = layer(x)
    kept = [t for t in saved if t.data_ptr() not in {p.data_ptr() for p in layer.parameters()}]
    assert sorted(t.nbytes for t in kept) == [8 * (1 + 2 * 37 * 3), 4 * 37 * 3 * 45]
    del spikes
    x.requires_grad_()
    layer(x).sum().backward()
    with torch.no_grad():
        assert layer(x).sum() > 0


@pytest.mark.parametrize("refusal", ["if (!memory.start)", "if (!memory)"])
def test_memory_that_is_refused_is_an_error_that_python_sees(
    monkeypatch, plant, compiled_anew, refusal
):
    problem = Problem()
    monkeypatch.setattr(dense, "choices", lambda: {"rows": "tile", "columns": "tile"})
    for module in (cpp, dense):
        plant(module, refusal, "if (true)")
    with pytest.raises(MemoryError, match="refused its working memory"):
        results(problem.layer(), problem.input(), problem.upstream())


def test_a_neuron_that_counts():
    spec = NeuronSpec(max_spikes=3)
    check(replace(Problem(), spec=spec).layer(), Problem().input(), Problem().upstream())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", ["spikes", "marked", "dense", "silent"])
def test_a_readout_of_spikes_is_torch_s_linear(kind, bias):
    torch.manual_seed(0)
    layer, x = SpikesLinear(97, 21, bias=bias), (torch.rand(37, 3, 97) < 0.2).float()
    x = {"dense": x + 0.5, "silent": 0 * x, "marked": lif(3 * x).spikes}.get(kind, x)
    x, upstream = x.detach().requires_grad_(), torch.randn(37, 3, 21)
    found = [layer(x), *torch.autograd.grad(layer(x), [x, *layer.parameters()], upstream)]
    exact = torch.nn.Linear(97, 21, bias=bias).double()
    exact.load_state_dict(layer.state_dict())
    x = x.detach().double().requires_grad_()
    out = exact(x)
    expected = [out, *torch.autograd.grad(out, [x, *exact.parameters()], upstream.double())]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == torch.float32 and relative(ours, theirs) <= 1e-6


def test_a_readout_keeps_bits_of_its_spikes():
    layer, x = SpikesLinear(128, 20), (torch.rand(37, 3, 128) < 0.2).float().requires_grad_()
    weights = sum(p.nbytes for p in layer.parameters())
    assert saved_bytes(layer, x) - weights <= 8 * (1 + 2 * 37 * 3)
