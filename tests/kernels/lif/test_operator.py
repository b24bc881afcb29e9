"""The operator as torch sees it: registration, compilation, autocast, errors, and what is saved
for backward."""

import pytest
import torch
from support.networks import network_of
from support.neurons import SPEC, Network, options
from support.slow import representatives

from snnbench.core.case import Case
from snnbench.kernels import LIF, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.batch_norm_lif.operator import batch_norm_lif_backward_op, batch_norm_lif_op
from snnbench.kernels.lif import autograd, backends, contract, lif
from snnbench.kernels.lif.cpu import launch
from snnbench.kernels.lif.operator import NeuronOptions, lif_backward_op, lif_op
from snnbench.measure.work import mandatory


def currents_of(*shape, **options):
    return (
        0.4 * torch.randn(*shape, generator=torch.Generator().manual_seed(0)) + 0.1
    ).requires_grad_(**options)


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("given", representatives(["currents", "everything"], [1]))
def test_opcheck(backend, given):
    x = currents_of(37, 3, 5)
    state, scale, shift = (currents_of(*shape) for shape in ((3, 5), (5,), (5,)))
    more = (state, scale, shift) if given == "everything" else (None, None, None)
    torch.library.opcheck(lif_op, (x, *more, *options(backend, trace=given == "everything")))
    checkpoints = lif_op(x, *more, *options(backend))[3]
    upstream = (torch.randn(37, 3, 5), None, torch.randn(3, 5))
    needed = [t is not None for t in (x, *more)]
    torch.library.opcheck(
        lif_backward_op, (x.detach(), None, None, checkpoints, *upstream, needed, *options(backend))
    )


@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_opcheck_of_batch_norm(backend):
    x, weight, bias = currents_of(7, 3, 5, 2), currents_of(5), currents_of(5)
    encoded = options(backend, channel_dim=2)
    torch.library.opcheck(batch_norm_lif_op, (x, None, weight, bias, 1e-5, *encoded))
    _, final, _, checkpoints, mean, variance = batch_norm_lif_op(
        x, None, weight, bias, 1e-5, *encoded
    )
    saved = (x.detach(), weight.detach(), bias.detach(), mean, variance, checkpoints)
    upstream = (torch.randn(7, 3, 5, 2), None, torch.randn_like(final))
    torch.library.opcheck(batch_norm_lif_backward_op, (*saved, *upstream, 1e-5, True, *encoded))


@pytest.mark.slow
def test_compile_without_graph_breaks_gives_the_same():
    x = 3 * currents_of(37, 3, 9)
    results = []
    for build in (lambda m: m, lambda m: torch.compile(m, fullgraph=True)):
        network = Network()
        out = build(network)(x)
        gradients = torch.autograd.grad((out * torch.arange(5.0)).sum(), list(network.parameters()))
        results.append([out, *gradients, *network.buffers()])
    for plain, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)
    assert results[0][0].sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", representatives([False, True], quick=(0,)))
@torch._dynamo.config.patch(
    recompile_limit=8, fail_on_recompile_limit_hit=False
)  # torch's own, which adapters change
def test_compile_takes_neurons_of_many_kinds_and_sizes(dynamic):
    torch._dynamo.reset()
    specs = [NeuronSpec(decay=decay) for decay in (0.9, 0.5)] + [
        NeuronSpec(max_spikes=3),
        NeuronSpec("hard"),
    ]
    for build in (LIF, lambda spec: BatchNormLIF(5, spec), lambda spec: LinearLIF(5, 5, spec=spec)):
        for spec in specs:
            torch.manual_seed(0)
            module = build(spec)
            compiled = torch.compile(module, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            for shape in ((7, 3, 5), (9, 4, 5)):
                x = currents_of(*shape)
                torch.testing.assert_close(compiled(x), module(x))


def test_under_autocast_currents_are_taken_as_they_come():
    linear, x = LinearLIF(9, 13), currents_of(37, 3, 9)
    with torch.autocast("cpu", torch.bfloat16):
        spikes = linear(x)
    assert spikes.dtype == torch.bfloat16
    currents = torch.nn.functional.linear(x.bfloat16(), linear.linear.weight.bfloat16())
    assert torch.equal(spikes, lif(currents, shift=linear.linear.bias).spikes)
    spikes.sum().backward()
    assert linear.linear.bias.grad.dtype == torch.float32


@pytest.mark.parametrize("module", [LIF(), BatchNormLIF(5)], ids=["lif", "batch_norm"])
def test_a_second_derivative_is_refused(module):
    x = currents_of(7, 3, 5)
    (gradient,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"currents": torch.zeros(3)}, ValueError, r"shape \(time_steps, batch, …\), not \(3,\)"),
        (
            {"currents": torch.zeros(3, 2, dtype=torch.int32)},
            TypeError,
            "must be float32, float16, bfloat16 or float64, not torch.int32",
        ),
        (
            {"state": torch.zeros(2, 4)},
            ValueError,
            r"state must be torch.float32 of shape \(2, 5\), not torch.float32 \(2, 4\)",
        ),
        ({"state": torch.zeros(2, 5).half()}, ValueError, "state must be torch.float32"),
        ({"shift": torch.zeros(2)}, ValueError, r"shift must have the shape \(5,\), not \(2,\)"),
        (
            {"scale": torch.zeros(5), "channel_dim": 1},
            ValueError,
            r"scale must have the shape \(2,\), not \(5,\)",
        ),
        ({"channel_dim": 0}, ValueError, "channel_dim = 0 must be a dim of currents"),
        ({"channel_dim": 3}, ValueError, "channel_dim = 3 must be a dim of currents"),
        (
            {"spikes_dtype": torch.int64},
            TypeError,
            "spikes_dtype = torch.int64 is not one of float32",
        ),
        (
            {"backend": "metal"},
            ValueError,
            "backend = 'metal' is not one of reference, cpp, triton, cuda",
        ),
        ({"backend": "cuda"}, RuntimeError, "backend 'cuda' cannot run float32 on cpu: "),
        (
            {"currents": torch.zeros(3, 2, 5).double(), "backend": "cpp"},
            RuntimeError,
            "C\\+\\+ computes in float32",
        ),
        (
            {"spec": NeuronSpec("hard", max_spikes=2)},
            ValueError,
            "a hard reset after a count of spikes is not defined",
        ),
        (
            {"spec": NeuronSpec(max_spikes=2), "spikes_dtype": "bits"},
            ValueError,
            "max_spikes must be 1",
        ),
        (
            {"spec": NeuronSpec(max_spikes=300), "spikes_dtype": torch.uint8},
            ValueError,
            "counts up to 255, max_spikes is 300",
        ),
        (
            {"spec": NeuronSpec(max_spikes=300), "spikes_dtype": torch.bfloat16},
            ValueError,
            "counts up to 256",
        ),
        ({"spec": "soft"}, TypeError, "must be a NeuronSpec, not 'soft'"),
        (
            {"state": torch.zeros(2, 5, device="meta")},
            ValueError,
            "state is on meta, the currents are on cpu",
        ),
        ({"spikes_dtype": torch.float64}, TypeError, "float64 for float64 currents"),
    ],
)
def test_what_does_not_fit_is_named(change, error, message):
    given = {"currents": torch.zeros(3, 2, 5), **change}
    with pytest.raises(error, match=message):
        lif(given.pop("currents"), **given)


def test_spikes_that_are_not_floats_have_no_gradient_but_the_state_has():
    x = currents_of(37, 3, 8)
    out = lif(x, spikes_dtype="bits")
    assert not out.spikes.requires_grad
    out.state.sum().backward()
    assert x.grad.abs().sum() > 0


def test_float64_goes_to_the_reference():
    assert backends.choose("cpu", torch.float64) == "reference"
    assert backends.choose("cpu", torch.float32) == "cpp"
    assert lif(torch.zeros(3, 2, 5).double()).state.dtype == torch.float64


def saved_bytes(run):
    saved = {}

    def pack(tensor):
        saved[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = run()  # held until its saved tensors are counted
    del result
    return sum(saved.values())


def test_only_currents_and_checkpoints_are_kept():
    x = currents_of(70, 3, 97)
    assert saved_bytes(lambda: lif(x)) == 4 * x.numel() + 3 * 4 * 3 * 97
    with torch.no_grad():
        assert saved_bytes(lambda: lif(x)) == 0
    normalised = BatchNormLIF(97)
    assert saved_bytes(lambda: normalised(x)) == 4 * x.numel() + 3 * 4 * 3 * 97 + 4 * 4 * 97


def test_the_kernels_are_given_each_array_once_and_no_less_than_what_is_mandatory(monkeypatch):
    seen = []

    def note(call):
        tensors = {
            id(t): t for t in vars(call).values() if isinstance(t, torch.Tensor) and t.dim() == 3
        }
        seen.append(sum(t.numel() * t.element_size() for t in tensors.values()))
        real[type(call)](call)

    real = {contract.Forward: launch.forward, contract.Backward: launch.backward}
    monkeypatch.setattr(launch, "forward", note)
    monkeypatch.setattr(launch, "backward", note)
    x = currents_of(70, 3, 97)
    lif(x, backend="cpp").spikes.backward(torch.ones(70, 3, 97))
    case = Case("any", workload="lif", time_steps=70, batch=3, neurons=97)
    checkpoints, border = 3 * (3 * 97) * 4, 4 * x.numel()
    assert seen == [2 * border + checkpoints, 3 * border + checkpoints]
    least = [
        mandatory(case, network_of(case), phase, 1.0).bytes for phase in ("forward", "backward")
    ]
    assert least == [border + border / 4, 2 * border + border / 2], (
        "spikes and their gradients could be shorter than float32"
    )


def test_an_expanded_gradient_is_read_in_place(monkeypatch):
    seen = []
    real = launch.backward
    monkeypatch.setattr(
        launch, "backward", lambda call: (seen.append(call.grad_spikes.stride()), real(call))
    )
    lif(currents_of(37, 3, 5), backend="cpp").spikes.sum().backward()
    assert seen == [(0, 0, 0)]


@pytest.mark.parametrize("backend", ["reference", "cpp"])
def test_axes_in_orders_too_unlike_are_copied_and_what_is_saved_stays(backend):
    x = currents_of(35, 2, 3, 2, 3, 2).detach().permute(0, 5, 4, 3, 2, 1).requires_grad_()
    upstream = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    checkpoints = lif_op(x, None, None, None, *options(backend))[3]
    before = checkpoints.clone(), checkpoints._version
    arguments = (
        x.detach(),
        None,
        None,
        checkpoints,
        upstream,
        None,
        None,
        [True, True, False, False],
    )
    actual = lif_backward_op(*arguments, *options(backend))
    in_order = lif_backward_op(*arguments, *options("reference"))
    for got, expected in zip(actual[:2], in_order[:2], strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(checkpoints, before[0]) and checkpoints._version == before[1]


def test_what_is_not_asked_for_is_empty():
    x = currents_of(37, 3, 5)
    for requested, sizes in ((False, (0, 0)), (True, (37 * 15, 2 * 15))):
        arguments = NeuronOptions(SPEC, -1, "float32", requested, requested, "cpp").arguments()
        _, _, trace, checkpoints = lif_op(x, None, None, None, *arguments)
        assert (trace.numel(), checkpoints.numel()) == sizes


@pytest.mark.parametrize("spikes_dtype", [None, torch.uint8])
@pytest.mark.parametrize("trace", [False, True])
def test_plain_calls_and_the_operator_give_the_same_bits(monkeypatch, trace, spikes_dtype):
    results = []
    for plainly in (True, False):
        if not plainly:
            monkeypatch.setattr(autograd, "suffices", lambda tensors: False)
        tensors = [currents_of(*shape) for shape in ((37, 3, 5), (3, 5), (5,), (5,))]
        tensors[1].requires_grad_(False)
        out = lif(
            tensors[0],
            state=tensors[1],
            scale=tensors[2],
            shift=tensors[3],
            trace=trace,
            spikes_dtype=spikes_dtype,
        )
        loss = out.state.sum() + (out.trace.square().sum() if trace else 0)
        loss = loss if spikes_dtype else loss + (out.spikes * torch.arange(5.0)).sum()
        loss.backward()
        results.append([out.spikes, out.state, out.trace, *(t.grad for t in tensors)])
        assert out.spikes.grad_fn is None or ("Neuron" in out.spikes.grad_fn.name()) == plainly
    for plain, operator in zip(*results, strict=True):
        assert plain is operator is None or torch.equal(plain, operator)


def test_every_mode_that_needs_the_operator_sees_it():
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        names = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.names.append(str(function))
            return function(*args, **(kwargs or {}))

    with Seen():
        lif(currents_of(7, 3, 5)).spikes.sum().backward()
    assert {"snnbench.lif.default", "snnbench.lif_backward.default"} <= set(Seen.names)
    with torch._subclasses.FakeTensorMode() as mode:
        assert lif(mode.from_tensor(torch.zeros(7, 3, 5))).spikes.shape == (7, 3, 5)
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: lif(x).spikes)(
        torch.zeros(7, 3, 5)
    )
    assert "snnbench.lif" in traced.code
    pair = torch.stack([currents_of(7, 3, 5).detach(), torch.ones(7, 3, 5)])
    assert torch.equal(torch.vmap(lambda x: lif(x).spikes)(pair)[1], lif(pair[1]).spikes)


def test_a_forward_derivative_is_refused_not_zero():
    x = torch.zeros(7, 3, 5)
    with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError):
        lif(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))


def test_arguments_that_cannot_be_hashed_are_named_too():
    with pytest.raises(TypeError, match=r"must be a NeuronSpec, not \{1: 2\}"):
        lif(torch.zeros(3, 2, 5), {1: 2})


def test_options_survive_their_text():
    spec = NeuronSpec("soft-undecayed", True, 0.1 + 0.2, 1 / 3, "atan", 1e-7, 12)
    for given in (
        NeuronOptions(spec, -2, "bits", True, False, "cuda"),
        NeuronOptions(SPEC, 1, "float16", False, True, "cpp"),
    ):
        assert NeuronOptions.of(*given.arguments()) == given
