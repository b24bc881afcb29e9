"""The fused neuron on CPUs: the reference against the float64 oracle, the C++ against the
reference, bit for bit."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.neurons import KINDS, RESETS, currents_of, gradients_of, label, relative
from support.slow import representatives

from snnbench.kernels import Integrator, NeuronSpec
from snnbench.kernels.lif import lif
from snnbench.proof import oracle


@pytest.mark.parametrize("spec", KINDS, ids=label)
def test_the_reference_is_the_oracle_in_float64(spec):
    x = currents_of(37, 3, 5).double()
    (spikes, state, trace), (gradient,) = gradients_of(lambda x: lif(x, spec, trace=True), x)
    v, expected = oracle.run(spec, x.numpy())
    assert np.array_equal(spikes.detach().numpy(), expected)
    assert np.allclose(trace.detach().numpy(), v, rtol=1e-13)
    only_spikes = gradients_of(lambda x: lif(x, spec)[:1], x)[1][0]
    upstream = torch.randn(
        37, 3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    ).numpy()
    assert np.allclose(
        only_spikes.numpy(),
        oracle.run_backward(spec, v, expected, upstream),
        rtol=1e-12,
        atol=1e-14,
    )
    assert gradient.abs().sum() > 0 and state.shape == (3, 5)


# All resets, counts that are rounded, and of the other surrogates atan (a division) and sigmoid (an
# exponential).
@pytest.mark.parametrize(
    "spec",
    representatives(KINDS, quick=(0, 2, len(RESETS) - 1, len(RESETS) + 1)),
    ids=label,
)
def test_cpp_has_the_bits_of_the_reference_and_the_gradients_of_float64(spec):
    x, state = currents_of(67, 3, 97), currents_of(3, 97, seed=2)

    def run(backend):
        return lambda x, state: lif(x, spec, state=state, trace=True, backend=backend)

    actual, gradients = gradients_of(run("cpp"), x, state)
    for got, expected in zip(actual, gradients_of(run("reference"), x, state)[0], strict=True):
        assert torch.equal(got, expected)
    exact, exact_gradients = gradients_of(run("reference"), x.double(), state.double())
    assert torch.equal(actual[0].double(), exact[0]), (
        "choose another seed: float32 and float64 decide differently"
    )
    for got, expected in zip(gradients, exact_gradients, strict=True):
        assert relative(got, expected) <= 1e-6


@st.composite
def problems(draw):
    """Sizes, memory order and options of a call, for kinds of neurons that other tests compile
    too."""
    inner = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    inner[-1] = draw(st.sampled_from([1, 7, 16, 64, 97, 300]))
    shape = [draw(st.sampled_from([1, 2, 31, 32, 33, 65])), *inner]
    return {
        "spec": NeuronSpec(
            draw(st.sampled_from(["soft", "hard"])),
            decay=draw(st.floats(0.3, 1.0)),
            threshold=draw(st.floats(0.3, 2.0)),
            slope=draw(st.floats(0.5, 2.0)),
        ),
        "shape": shape,
        "order": draw(st.permutations(range(len(shape)))),
        "channel_dim": draw(st.integers(1, len(shape) - 1)),
        "dtype": draw(st.sampled_from([torch.float32, torch.float32, torch.bfloat16])),
        "with": draw(st.sets(st.sampled_from(["state", "scale", "shift", "trace"]))),
        "upstream": draw(st.sampled_from(["dense", "expanded", "transposed"])),
        "seed": draw(st.integers(0, 99)),
    }


def ordered(tensor, order):
    """The same numbers in another order in memory."""
    back = [list(order).index(d) for d in range(len(order))]
    return tensor.permute(*order).contiguous().permute(*back)


def check(problem):
    """The C++ has the bits of the reference and gradients within rounding of float64."""
    shape, spec, seed = problem["shape"], problem["spec"], problem["seed"]
    channels = shape[problem["channel_dim"]]
    x = ordered(currents_of(*shape, seed=seed, dtype=problem["dtype"]), problem["order"])
    given_tensors = {
        "state": currents_of(*shape[1:], seed=seed + 1),
        "scale": 1 + 0.1 * currents_of(channels, seed=seed + 2),
        "shift": currents_of(channels, seed=seed + 3),
    }
    names = [name for name in given_tensors if name in problem["with"]]
    upstream = {
        "dense": torch.randn(shape, generator=torch.Generator().manual_seed(seed)),
        "expanded": torch.ones(()).expand(shape),
        "transposed": torch.randn(
            shape[::-1], generator=torch.Generator().manual_seed(seed)
        ).permute(*range(len(shape))[::-1]),
    }[problem["upstream"]].to(x.dtype)

    def run(backend, double):
        def convert(t):
            return (t.double() if double else t.clone()).requires_grad_()

        leaves = [convert(x), *(convert(given_tensors[name]) for name in names)]
        options = dict(zip(names, leaves[1:], strict=True))
        out = lif(
            leaves[0],
            spec,
            trace="trace" in problem["with"],
            channel_dim=problem["channel_dim"],
            backend=backend,
            **options,
        )
        outputs = [o for o in out if o is not None]
        loss = (out.spikes * upstream.to(out.spikes.dtype)).sum() + sum(
            (o.to(out.state.dtype) ** 2).sum() for o in outputs[1:]
        )
        return outputs, torch.autograd.grad(loss, leaves)

    actual, gradients = run("cpp", double=False)
    for got, expected in zip(actual, run("reference", double=False)[0], strict=True):
        assert torch.equal(got, expected)
        assert got.stride() == expected.stride()
    exact, exact_gradients = run("reference", double=True)
    assume(torch.equal(actual[0].double(), exact[0]))
    limit = 1e-6 if x.dtype == torch.float32 else 0.01  # results in bfloat16 are rounded to 8 bits
    # What cancels in a sum is not lost digits of the terms: the error is held against what was
    # added up.
    terms = exact_gradients[0].abs().sum() + upstream.double().norm()
    for got, expected in zip(gradients, exact_gradients, strict=True):
        assert (got.double() - expected).norm() <= limit * (expected.norm() + terms)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_any_sizes_strides_and_options(problem):
    check(problem)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_many_sizes_strides_and_options(problem):
    check(problem)


SHORT = [
    (torch.float16, None),
    (torch.float16, "bits"),
    (torch.bfloat16, None),
    (torch.bfloat16, torch.float32),
    (torch.bfloat16, torch.uint8),
]


@pytest.mark.parametrize(("dtype", "spikes"), representatives(SHORT, [1, 4]))
def test_storage_in_short_formats(dtype, spikes):
    x = currents_of(35, 2, 13, dtype=dtype)
    actual, expected = (
        lif(x, trace=True, spikes_dtype=spikes, backend=backend) for backend in ("cpp", "reference")
    )
    assert all(torch.equal(a, b) for a, b in zip(actual, expected, strict=True))
    assert actual.state.dtype == torch.float32 and actual.trace.dtype == dtype
    in_float32 = lif(x.float(), backend="cpp")
    assert torch.equal(actual.state, in_float32.state)
    if spikes != "bits":
        assert actual.spikes.dtype == (dtype if spikes is None else spikes)
        assert torch.equal(actual.spikes.float(), in_float32.spikes)


@pytest.mark.parametrize("neurons", [1, 7, 8, 9, 97, 600])
@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_bits_hold_the_spikes_lowest_first(neurons, backend):
    x = currents_of(5, 3, neurons)
    packed = lif(x, spikes_dtype="bits", backend=backend).spikes
    assert packed.shape == (5, 3, (neurons + 7) // 8)
    unpacked = np.unpackbits(packed.numpy(), axis=-1, bitorder="little")
    assert np.array_equal(unpacked[..., :neurons], lif(x, backend="reference").spikes.numpy())
    assert not unpacked[..., neurons:].any()


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("first", [1, 16, 32, 40])
def test_a_sequence_in_pieces_gives_the_bits_of_one_run(backend, first):
    x = currents_of(67, 2, 19)
    whole = lif(x, backend=backend, trace=True)
    head = lif(x[:first], backend=backend, trace=True)
    tail = lif(x[first:], state=head.state, backend=backend, trace=True)
    assert torch.equal(torch.cat([head.spikes, tail.spikes]), whole.spikes)
    assert torch.equal(torch.cat([head.trace, tail.trace]), whole.trace)
    assert torch.equal(tail.state, whole.state)


def test_gradients_go_through_the_state_between_pieces():
    x = currents_of(67, 2, 19)

    def in_pieces(x):
        head = lif(x[:20], backend="cpp")
        return (torch.cat([head.spikes, lif(x[20:], state=head.state, backend="cpp").spikes]),)

    whole = gradients_of(lambda x: lif(x, backend="cpp")[:1], x)[1][0]
    assert relative(gradients_of(in_pieces, x)[1][0], whole) <= 1e-6
    detached = gradients_of(
        lambda x: (
            torch.cat([lif(x[:20]).spikes, lif(x[20:], state=lif(x[:20]).state.detach()).spikes]),
        ),
        x,
    )
    assert relative(detached[1][0], whole) > 1e-3


@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_batch_items_do_not_see_each_other(backend):
    x = currents_of(37, 5, 97)
    order = torch.tensor([3, 0, 4, 1, 2])
    assert torch.equal(
        lif(x, backend=backend).spikes[:, order], lif(x[:, order], backend=backend).spikes
    )


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize(("value", "rate"), [(10.0, 1.0), (-1.0, 0.0), (0.0, 0.0)])
def test_all_spike_and_none_spikes(backend, value, rate):
    out = lif(torch.full((37, 3, 97), value, requires_grad=True), backend=backend)
    assert out.spikes.mean() == rate
    out.spikes.sum().backward()


@pytest.mark.parametrize("spec", representatives(RESETS, [0]), ids=label)
def test_nan_and_infinity_follow_the_formulas_and_stay_in_their_sequence(spec):
    x = currents_of(9, 2, 40)
    x[3, 0, 0], x[3, 0, 1], x[3, 0, 2] = torch.nan, torch.inf, -torch.inf
    (actual, gradients), (expected, expected_gradients) = (
        gradients_of(lambda x, b=backend: lif(x, spec, trace=True, backend=b), x)
        for backend in ("cpp", "reference")
    )
    for got, want in zip([*actual, *gradients], [*expected, *expected_gradients], strict=True):
        assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(actual[0], expected[0])
    assert (actual[0][3:, 0, 0] == 0).all() and actual[2][3:, 0, 0].isnan().all()
    assert actual[0][3, 0, 1] == min(spec.max_spikes, 3) and (actual[0][3:, 0, 2] == 0).all()
    if spec.reset == "hard":
        assert actual[2][4:, 0, 1].isfinite().all()
    untouched = torch.ones(2, 40, dtype=torch.bool)
    untouched[0, :3] = False
    clean = currents_of(9, 2, 40)
    assert torch.equal(
        lif(clean, spec, backend="cpp").spikes[:, untouched], actual[0][:, untouched]
    )
    assert gradients[0][:, untouched].isfinite().all()


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("shape", [(7, 0, 5), (7, 3, 0), (0, 3, 5), (0, 0, 0)])
def test_empty_calls(backend, shape):
    x, state = torch.zeros(shape, requires_grad=True), torch.ones(shape[1:], requires_grad=True)
    shift = torch.zeros(shape[-1], requires_grad=True)
    out = lif(x, state=state, shift=shift, backend=backend)
    assert out.spikes.shape == shape and torch.equal(
        out.state, state if not shape[0] else torch.zeros(shape[1:])
    )
    (out.spikes.sum() + out.state.sum()).backward()
    assert torch.equal(
        state.grad, torch.ones(shape[1:]) if not shape[0] else torch.zeros(shape[1:])
    )
    assert (shift.grad == 0).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_cpp_does_not_depend_on_the_number_of_threads(threads):
    x = currents_of(40, 3, 700)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        actual, gradients = gradients_of(lambda x: lif(x, backend="cpp")[:2], x)
    finally:
        torch.set_num_threads(before)
    expected, expected_gradients = gradients_of(lambda x: lif(x, backend="cpp")[:2], x)
    assert all(
        torch.equal(a, b)
        for a, b in zip([*actual, *gradients], [*expected, *expected_gradients], strict=True)
    )


def test_large_results_are_written_past_the_caches_without_harm():
    # 5.2 MB of spikes, with an aligned row and one that is not
    for neurons in (4096, 4099):
        x = currents_of(20, 16, neurons)
        (actual, gradient), (expected, exact) = (
            gradients_of(lambda x, b=b: lif(x, backend=b)[:1], x) for b in ("cpp", "reference")
        )
        assert torch.equal(actual[0], expected[0])
        assert relative(gradient[0], exact[0]) <= 1e-6


@pytest.mark.parametrize("shape", [(37, 3, 97), (1, 1, 5)], ids=str)
@pytest.mark.parametrize("gain", [1.0, 0.25])
def test_an_integrator_is_a_weighted_sum_of_earlier_steps(gain, shape):
    x, upstream = currents_of(*shape).requires_grad_(), currents_of(*shape, seed=1)
    v = Integrator(0.75, gain)(x)
    (gradient,) = torch.autograd.grad(v, x, upstream)
    t = torch.arange(shape[0], dtype=torch.float64)
    factors = gain * torch.tril(0.75 ** (t[:, None] - t).clamp(min=0))
    assert relative(v, torch.einsum("tk,kbn->tbn", factors, x.double())) <= 1e-6
    assert relative(gradient, torch.einsum("tk,tbn->kbn", factors, upstream.double())) <= 1e-6


@pytest.mark.parametrize("shape", [(37, 3, 20), (1, 1, 5), (5, 2, 1), (3, 2, 1100)], ids=str)
def test_the_sum_of_an_integrator_s_softmax_is_torch_s(shape):
    x = 20 * currents_of(*shape)
    readout = Integrator(0.75, 0.25, softmax_sum=True)

    def exactly(x):
        v, steps = torch.zeros_like(x[0]), []
        for step in x:
            v = 0.75 * v + 0.25 * step
            steps.append(v.softmax(-1))
        return [torch.stack(steps).sum(0, keepdim=True)]

    (found, gradient), (expected, exact) = (
        gradients_of(lambda x: [readout(x)], x),
        gradients_of(exactly, x.double()),
    )
    assert found[0].shape == (1, *shape[1:])
    assert relative(found[0], expected[0]) <= 1e-6
    assert (gradient[0] - exact[0]).norm() <= 2e-6 * max(exact[0].norm(), 1)
