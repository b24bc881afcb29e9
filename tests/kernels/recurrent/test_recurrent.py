"""The fused recurrent layer, against the float64 oracle: neurons, sizes, layouts, threads, state,
instruction sets, planted faults, and as torch sees it."""

from dataclasses import replace

import pytest
import torch
from support.compiled import forget
from support.neurons import RESETS, SURROGATE_SPECS, currents_of, label, relative
from support.slow import representatives

from snnbench.adapters.torch_loop import TorchLoop
from snnbench.kernels import NeuronSpec, RecurrentLIF
from snnbench.kernels.build import cpp
from snnbench.kernels.linear import dense
from snnbench.kernels.linear import launch as linear_launch
from snnbench.kernels.recurrent import functional, launch, recurrent_lif
from snnbench.kernels.recurrent.contract import parts_of_state
from snnbench.kernels.recurrent.operator import (
    RecurrentOptions,
    recurrent_lif_backward_op,
    recurrent_lif_op,
)
from snnbench.proof.recurrence import run, run_backward

ALIF = NeuronSpec(adaptation=0.2, adaptation_decay=0.9)
CUBA = NeuronSpec(current_decay=0.6)
SPECS = [
    *(spec for spec in RESETS if spec.max_spikes == 1),
    *SURROGATE_SPECS[1:],
    ALIF,
    *(
        replace(ALIF, reset=reset, detach_reset=detach)
        for reset, detach in (("soft", True), ("hard", False), ("hard", True), ("none", False))
    ),
    replace(ALIF, reset="soft-undecayed"),
    CUBA,
    *(
        replace(CUBA, reset=reset, detach_reset=detach)
        for reset, detach in (("soft", True), ("hard", False), ("hard", True), ("none", False))
    ),
    replace(CUBA, reset="soft-undecayed", surrogate="atan"),
]
SIZES = [(37, 3, 97), (1, 3, 97), (37, 1, 97), (5, 2, 1), (7, 17, 64), (3, 300, 131), (50, 13, 260)]


def weight_of(neurons, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return 0.5 * torch.randn(neurons, neurons, generator=generator) / neurons**0.5


def results(currents, weight, upstream, spec=None, **options):
    """Spikes and gradients by currents and weight."""
    x, r = currents.detach().requires_grad_(), weight.detach().clone().requires_grad_()
    spikes = recurrent_lif(x, r, spec, **options).spikes
    return spikes.detach(), *torch.autograd.grad(spikes, [x, r], upstream.to(spikes.dtype))


def check(currents, weight, upstream, spec=None, **options):
    """Holds a call against the oracle; returns its results."""
    spec = spec or NeuronSpec()
    spikes, by_currents, by_weight = actual = results(currents, weight, upstream, spec, **options)
    exact = weight.double().numpy()
    v, expected = run(spec, currents.double().numpy(), recurrent=exact)
    assert (spikes.double().numpy() == expected).all(), "spikes differ: a fault, or another seed"
    gradient = run_backward(spec, v, expected, upstream.double().numpy(), exact)
    gradient = torch.from_numpy(gradient.copy())
    errors, before = gradient[1:], torch.from_numpy(expected)[:-1]
    assert relative(by_currents, gradient) <= 3e-6, "gradient by the currents"
    by_exact = errors.flatten(0, 1).t() @ before.flatten(0, 1)
    assert relative(by_weight, by_exact) <= 3e-6, "gradient by the weight"
    return actual


def problem(*shape, seed=0):
    return currents_of(*shape, seed=seed), weight_of(shape[2]), currents_of(*shape, seed=seed + 1)


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("spec", representatives(SPECS, (0, 3, 9, 14, len(SPECS) - 3)), ids=label)
def test_every_neuron_is_the_oracle_s(spec, backend):
    check(*problem(37, 3, 97), spec, backend=backend)


@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_any_sizes(shape):
    check(*problem(*shape))


@pytest.mark.parametrize(
    ("reset", "shape"),
    representatives(
        [(reset, size) for reset in ("soft", "hard") for size in SIZES[:5] if size[0] > 1], (0, 6)
    ),
)
def test_a_current_that_decays_is_that_of_torch_s_loop(reset, shape):
    spec = replace(CUBA, reset=reset)
    currents, weight, upstream = problem(*shape)
    loop = TorchLoop().recurrent(spec, shape[2], "default")
    x = currents.clone().requires_grad_()
    with torch.no_grad():
        loop.recurrent.weight.copy_(weight)
    spikes = loop(x)
    expected = spikes.detach(), *torch.autograd.grad(spikes, [x, loop.recurrent.weight], upstream)
    found = results(currents, weight, upstream, spec)
    assert torch.equal(found[0], expected[0]), "spikes differ: a fault, or another seed"
    assert all(relative(a, b) <= 3e-6 for a, b in zip(found[1:], expected[1:], strict=True))


@pytest.mark.parametrize("drive", [-1.0, 2.0], ids=["silent", "all fire"])
def test_silent_neurons_and_neurons_that_always_fire(drive):
    spec = NeuronSpec("hard", detach_reset=True, surrogate="rectangle")
    currents, weight, upstream = problem(37, 3, 97)
    currents, weight = 0.1 * currents + drive, 0.1 * weight
    spikes, *_ = check(currents, weight, upstream, spec)
    assert (spikes == (drive > 0)).all()


@pytest.mark.parametrize("layout", ["batch first", "neurons first", "every second"])
def test_any_strides(layout):
    def laid_out(x):
        if layout == "batch first":
            return x.transpose(0, 1).contiguous().transpose(0, 1)
        if layout == "neurons first":
            return x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        return torch.stack([x, -x], -1)[..., 0]

    currents, weight, upstream = problem(37, 3, 130)
    check(laid_out(currents), weight.t().contiguous().t(), laid_out(upstream))
    check(currents, weight, torch.ones(()).expand(37, 3, 130))


def test_threads_do_not_change_it(monkeypatch):
    arrays = problem(37, 5, 97)
    one = results(*arrays)
    monkeypatch.setattr(launch, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(dense, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    for plan in (launch._plan, linear_launch._plan):
        plan.cache_clear()
    several = results(*arrays)
    for plan in (launch._plan, linear_launch._plan):
        plan.cache_clear()
    assert all(torch.equal(a, b) for a, b in zip(one, several, strict=True))


@pytest.mark.parametrize("spec", [NeuronSpec(), ALIF, CUBA], ids=label)
@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_a_sequence_in_pieces_is_the_whole(backend, spec):
    currents, weight, upstream = problem(37, 3, 97)
    whole = results(currents, weight, upstream, spec, backend=backend)
    x, r = currents.requires_grad_(), weight.requires_grad_()
    state, spikes = None, []
    for piece in x.split([1, 20, 16]):
        out = recurrent_lif(piece, r, spec, state=state, backend=backend)
        spikes.append(out.spikes)
        state = out.state
    pieces = torch.cat(spikes)
    by_currents, by_weight = torch.autograd.grad(pieces, [x, r], upstream)
    assert torch.equal(pieces, whole[0])
    assert relative(by_currents, whole[1]) <= 2e-6 and relative(by_weight, whole[2]) <= 2e-6


@pytest.mark.parametrize("spec", [NeuronSpec(), ALIF, CUBA], ids=label)
def test_gradients_of_the_state_are_those_of_the_reference(spec):
    currents, weight, upstream = problem(7, 3, 97)
    state = [currents[0], (currents[1] > 0).float()]
    state = torch.stack([*state, currents[2].abs()][: parts_of_state(spec)])
    found = []
    for backend, dtype in (("cpp", torch.float32), ("reference", torch.float64)):
        leaves = [t.to(dtype).detach().requires_grad_() for t in (currents, weight, state)]
        options = {"spec": spec, "backend": backend}
        out = recurrent_lif(leaves[0], leaves[1], state=leaves[2], **options)
        by_final = upstream[1 : 1 + len(state)].to(dtype)
        gradients = torch.autograd.grad(
            [out.spikes, out.state], leaves, [upstream.to(dtype), by_final]
        )
        (alone,) = torch.autograd.grad(
            recurrent_lif(leaves[0], leaves[1], **options).state.sum(), leaves[0]
        )
        found.append([out.spikes, out.state, *gradients, alone])
    assert all(relative(a, b) <= 2e-6 for a, b in zip(*found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_types_are_computed_in_float32(dtype):
    currents, weight, upstream = problem(37, 3, 97)
    currents, upstream = currents.to(dtype), upstream.to(dtype)
    spikes, by_currents, by_weight = results(currents, weight, upstream)
    expected = results(currents.float(), weight, upstream.float())
    assert spikes.dtype == by_currents.dtype == dtype and by_weight.dtype == torch.float32
    assert torch.equal(spikes.float(), expected[0])
    assert torch.equal(by_currents, expected[1].to(dtype))
    assert relative(by_weight, expected[2]) <= 1e-2
    short = recurrent_lif(currents, weight.to(dtype)).spikes
    assert torch.equal(short.float(), recurrent_lif(currents.float(), weight.to(dtype)).spikes)


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("shape", [(0, 3, 5), (4, 0, 5)], ids=str)
def test_calls_without_steps_or_items(shape, backend):
    currents, weight, upstream = problem(*shape)
    state = torch.ones(2, *shape[1:]).requires_grad_()
    weight.requires_grad_()
    out = recurrent_lif(currents.requires_grad_(), weight, state=state, backend=backend)
    assert out.spikes.shape == shape and torch.equal(out.state, state)
    by_state, by_weight = torch.autograd.grad(
        [out.state, out.spikes], [state, weight], [torch.ones_like(state), upstream]
    )
    assert torch.equal(by_state, torch.ones_like(state)) and not by_weight.any()


def test_forward_keeps_potentials_and_bits():
    module, x, saved = RecurrentLIF(97), currents_of(37, 3, 97), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t), t)[1], lambda t: t):
        spikes = module(x)
    kept = sorted(t.nbytes for t in saved if t is not module.weight_hh_l0)
    assert kept[:2] == [8 * (1 + 2 * 37 * 3), 4 * 37 * 3 * 97] and kept[2:] in ([], [4 * 97 * 97])
    del spikes


# -- torch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [NeuronSpec(), ALIF], ids=label)
@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_opcheck(backend, spec):
    currents, weight, upstream = problem(9, 3, 5)
    state = torch.stack([currents[0], *(currents[1 : parts_of_state(spec)] > 0).float()])
    encoded = RecurrentOptions(spec, True, backend).arguments()
    for given in (None, state.requires_grad_()):
        leaves = currents.requires_grad_(), weight.requires_grad_()
        torch.library.opcheck(recurrent_lif_op, (*leaves, given, *encoded))
    _, final, potentials, bits = recurrent_lif_op(currents, weight, None, *encoded)
    saved = weight.detach(), potentials, bits, upstream, torch.randn_like(final)
    torch.library.opcheck(recurrent_lif_backward_op, (*saved, [True] * 3, *encoded))


def test_plain_calls_and_the_operator_give_the_same_bits(monkeypatch):
    arrays = problem(37, 3, 97)
    plain = results(*arrays)
    monkeypatch.setattr(functional.autograd, "suffices", lambda tensors: False)
    assert all(torch.equal(a, b) for a, b in zip(plain, results(*arrays), strict=True))


@pytest.mark.slow
def test_compile_without_graph_breaks_gives_the_same():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(9, 13), RecurrentLIF(13))
    x = 3 * currents_of(37, 3, 9)
    found = []
    for called in (module, torch.compile(module, fullgraph=True)):
        out = called(x)
        gradients = torch.autograd.grad((out * torch.arange(13.0)).sum(), [*module.parameters()])
        found.append([out, *gradients])
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)


def test_its_parameter_is_that_of_torch_s_recurrent_layer():
    torch.manual_seed(0)
    rnn, ours = torch.nn.RNN(5, 7, bias=False), RecurrentLIF(7)
    ours.load_state_dict({"weight_hh_l0": rnn.state_dict()["weight_hh_l0"]})
    assert torch.equal(ours.weight_hh_l0, rnn.weight_hh_l0)
    assert "7, soft" in repr(ours)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"currents": torch.zeros(3, 5)}, ValueError, r"\(time_steps, batch, neurons\)"),
        ({"currents": torch.zeros(3, 2, 5, dtype=torch.int32)}, TypeError, "currents must be"),
        ({"weight": torch.zeros(5, 4)}, ValueError, r"weight must have the shape \(5, 5\)"),
        ({"weight": torch.zeros(5, 5).double()}, TypeError, "the weight is torch.float64"),
        ({"state": torch.zeros(2, 5)}, ValueError, r"state must have the shape \(2, 2, 5\)"),
        ({"state": torch.zeros(2, 2, 5).half()}, TypeError, "state must be torch.float32"),
        (
            {"state": torch.zeros(2, 2, 5), "spec": ALIF},
            ValueError,
            r"state must have the shape \(3, 2, 5\)",
        ),
        ({"spec": "soft"}, TypeError, "must be a NeuronSpec, not 'soft'"),
        ({"spec": NeuronSpec(max_spikes=2)}, ValueError, "max_spikes must be 1"),
        ({"spec": NeuronSpec(learned_decay="direct")}, ValueError, "a learned decay"),
        ({"backend": "metal"}, ValueError, "'metal' is not one of reference, cpp"),
        ({"state": torch.zeros(2, 2, 5, device="meta")}, ValueError, "state is on meta"),
    ],
)
def test_what_does_not_fit_is_named(change, error, message):
    given = {"currents": torch.zeros(3, 2, 5), "weight": torch.zeros(5, 5), **change}
    with pytest.raises(error, match=message):
        recurrent_lif(**given)


def test_a_second_derivative_is_refused():
    x, module = currents_of(7, 3, 5).requires_grad_(), RecurrentLIF(5)
    (gradient,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        gradient.sum().backward()


# -- other processors, planted faults --------------------------------------------------------------


@pytest.mark.parametrize("spec", representatives([NeuronSpec(), CUBA], [0]), ids=label)
def test_other_instruction_sets_give_the_same_spikes(compile_for_other_processor, spec):
    arrays = *problem(37, 5, 261), spec
    native = results(*arrays)
    compile_for_other_processor()
    assert torch.equal(check(*arrays)[0], native[0])


FAULTS = {
    "spikes come back two steps late": ("words(2 * k, t)", "words(2 * k, t ? t - 1 : 0)"),
    "the second 128 neurons are not fed back": ("1.0f, !k, sums, then", "1.0f, true, sums, then"),
    "the state is not carried on": ("p[j] = neuron.decay * e[j];", ""),
    "the gradient is cut between steps": ("g[j] + r[j]", "g[j]"),
    "all items have the errors of the first": (
        "later + item * stride, stride",
        "later, stride",
    ),
    "the last neurons' columns are those before them": ("panels + column * n.neurons", "panels"),
    "the threshold does not rise": ("adaptation.jump * spike", "0.0f * spike", ALIF),
    "the current does not decay": ("n.current_decay * i[j]", "i[j]", CUBA),
    "the current's gradient is cut": ("n.current_decay * e[j]", "0.0f", CUBA),
    "the membrane's gradient takes the current's": (
        "p[j] = neuron.decay * e[j];\n#if RECURRENT_SYNAPSE\n        e[j] += by_current[j];",
        "e[j] += RECURRENT_SYNAPSE ? thirds[i * stride + column + j] : 0.0f;\n"
        "        p[j] = neuron.decay * e[j];\n#if RECURRENT_SYNAPSE",
        CUBA,
    ),
    "the threshold's rise has no gradient": ("- through_spike)", "- 0.0f)", ALIF),
}


@pytest.mark.parametrize("fault", representatives(FAULTS, [0, 4]))
def test_planted_faults_are_seen(plant, compiled_anew, fault):
    right, wrong, *spec = FAULTS[fault]
    arrays = *problem(37, 13, 140), *spec
    check(*arrays)
    forget()
    plant(cpp, right, wrong, "recurrent.cpp")
    with pytest.raises(AssertionError, match=r"differ|gradient by"):
        check(*arrays)


def test_memory_that_is_refused_is_an_error_that_python_sees(plant, compiled_anew):
    plant(cpp, "if (!memory.start)", "if (true)", "recurrent.cpp")
    with pytest.raises(MemoryError, match="refused its working memory"):
        results(*problem(37, 3, 5))
