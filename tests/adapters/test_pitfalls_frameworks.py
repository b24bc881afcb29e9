"""Pitfalls 9 to 19 that one framework has: Norse, Rockpool, SpikingJelly, lava-dl, and those that
scale their input.

Ways to measure another neuron, or none, that cost people hours; each by its number, with what keeps
us out of it.
"""

import importlib
import os

import numpy as np
import pytest
from support.expected import adapter_of
from support.networks import network_of
from support.proofs import problem_of, proof_of, refusal_of
from support.ready import CURRENTS, JAX, READY, answers, changed, program_of
from support.slow import without

from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize("name", ["norse", "norse:lif-box-cell", "norse:lif"])
def test_9_the_slope_that_norse_ignores_is_the_one_it_computes(name):
    """Norse 1.1 ignores `alpha` (default 100); a version that obeys it must get 1, and other
    slopes are refused."""
    program = program_of(READY[name])
    parameters = [
        vars(module).get("p") or vars(module).get("parameters_of_neuron")
        for module in program.network.modules()
    ]
    (alpha,) = {float(p.alpha) for p in parameters if hasattr(p, "alpha")}
    assert alpha == 1
    case = READY[name]
    steep = NeuronSpec(case.neuron.reset, case.neuron.detach_reset, slope=2)
    assert "ignores its slope" in refusal_of(
        adapter_of("norse"), Case("norse", case.construction, neuron=steep)
    )


def test_a_sigmoid_that_is_written_anew_for_snntorch_is_told():
    """snnTorch's own overflows: its gradient 4 below the threshold is NaN at slope 25."""
    import torch
    from snntorch import surrogate

    u = torch.tensor([-4.0], requires_grad=True)
    surrogate.sigmoid(slope=25)(u).sum().backward()
    assert u.grad.isnan().all(), "a version without the overflow needs no other"
    for surrogate_name in ("sigmoid", "superspike"):
        neuron = NeuronSpec("none", surrogate=surrogate_name, slope=25)
        program = program_of(Case("snntorch", neuron=neuron, neurons=4, time_steps=5, batch=2))
        warnings = program.facts(program.forward(program.put_input(CURRENTS)))["warnings"]
        assert len(warnings) == (surrogate_name == "sigmoid")
        assert all("overflows to NaN" in text for text in warnings)


def test_10_rockpool_is_there_with_its_zero_matrix_and_without():
    """`LIFTorch` multiplies by an N × N matrix of zeros at every step, recurrent or not."""
    shipped, without = (
        next(
            module.lif
            for module in program_of(READY[name]).network.modules()
            if hasattr(module, "lif")
        )
        for name in ("rockpool:lif-torch", "rockpool:lif-torch-without-recurrence")
    )
    assert shipped.w_rec.shape == (4, 4) and not shipped.w_rec.any()
    assert not hasattr(without, "w_rec")


@pytest.mark.parametrize("name", [name for name in READY if name.startswith("spikingjelly")])
def test_12_the_provider_of_spikingjelly_s_neuron_is_on_record(name, monkeypatch):
    """Version 2 chooses among CUDA, Triton and torch by itself, and in short formats takes torch
    without a word."""
    program = program_of(READY[name])
    assert program.facts(program.inference(program.put_input(CURRENTS)))["backend"] in (
        "torch",
        "torch-reference",
    )
    if name in ("spikingjelly", "spikingjelly:parametric"):
        functional = importlib.import_module("spikingjelly.activation_based.functional")
        monkeypatch.setattr(
            functional,
            "neuron_implementation",
            lambda kind, device, execution: {"implementation": "triton"},
        )
        facts = {
            p: adapter_of("spikingjelly").facts(changed(name, device="cuda", precision=p))
            for p in ("fp32", "bf16")
        }
        assert facts == {"fp32": {"backend": "triton"}, "bf16": {"backend": "torch-reference"}}


def test_12_a_provider_is_forced_or_the_case_ends(monkeypatch):
    """The package reads its variable once; a second wish in one process must not be taken for
    granted."""
    from spikingjelly._ops.lif import _selection

    providers = importlib.import_module("snnbench.adapters.spikingjelly")
    monkeypatch.setenv("SJ_LIF_CUDA_IMPLEMENTATION", "auto")
    with pytest.raises(Exception, match="already bound SpikingJelly to its provider 'auto'"):
        providers.force_provider("triton")
    monkeypatch.setattr(_selection, "_requested", "triton")
    providers.force_provider("triton")
    assert os.environ["SJ_LIF_CUDA_IMPLEMENTATION"] == "triton"


@pytest.mark.parametrize(
    ("name", "scale"),
    without(
        {"rockpool-jax"},
        [("norse", 16), ("norse:lif", 16), ("rockpool:lif-torch", 2**40), ("rockpool-jax", 2**44)],
    ),
)
def test_14_a_scale_folded_into_the_weights_is_taken_out_of_their_gradients(name, scale):
    """Exact where it is a power of two and the format can hold it."""
    case = changed(name, neurons=5, time_steps=3, batch=2)
    problem = problem_of(case, 1.0)
    program = adapter_of(case.framework).program(case, network_of(case))
    program.load(problem.parameters)
    x = program.put_input(problem.input)
    result = program.forward(x)
    done = program.backward(result, program.put_upstream(problem.upstream, result))
    if name in JAX:
        loaded, gradient = (
            np.array(program.parameters["linear1"]["weight"]),
            np.array(done.gradients["linear1"]["weight"]),
        )
    else:
        weight = program.parameters["linear1"]["weight"]
        loaded, gradient = weight.detach().numpy(), weight.grad.numpy()
    assert np.array_equal(loaded, problem.parameters["linear1"]["weight"] * np.float32(scale))
    assert np.array_equal(
        program.gradients(done).parameters["linear1"]["weight"], gradient * np.float32(scale)
    )
    if scale > 65504:
        half = changed(name, precision="fp16")
        assert "which fp16 cannot hold" in refusal_of(adapter_of(half.framework), half)


@pytest.mark.parametrize("name", ["spyx", "norse", "spikingjelly"])
def test_17_a_sequence_scanned_over_its_batch_is_rejected(name):
    """The known comparison hands Spyx (T, B, N) and scans the second axis."""
    right = adapter_of(name)

    class Turned(type(right)):
        def lif(self, spec, features, construction):
            neuron = super().lif(spec, features, construction)
            if name == "spyx":
                return lambda currents: neuron(currents.swapaxes(0, 1)).swapaxes(0, 1)

            import torch

            class Module(torch.nn.Module):
                def forward(self, currents):
                    return neuron(currents.transpose(0, 1)).transpose(0, 1)

            return Module()

    case = Case(name, neurons=61, time_steps=31, batch=3)
    proof = proof_of(Turned(), case)
    assert not proof.passed and "batch" in proof.reason


@pytest.mark.parametrize("construction", ["default", "quantised"])
def test_18_a_threshold_that_lava_dl_would_cut_off_is_refused(construction):
    """It is cut off at a multiple of 1/scale without a word; so is a decay at one of 1/4096."""
    adapter = adapter_of("lava-dl")

    def refusal(**changes):
        return refusal_of(
            adapter, Case("lava-dl", construction, neuron=NeuronSpec("none", **changes))
        )

    assert refusal() is None and refusal(threshold=0.75) is None
    assert "threshold is here a multiple of 1/" in refusal(threshold=0.1)
    assert "decay is a multiple of 1/4096" in refusal(decay=0.9)


def test_19_a_surrogate_put_into_a_module_is_used_and_taken_out_again():
    """A name imported before the patch keeps the old function; a patch that stays leaks into
    what runs next."""
    module = importlib.import_module("rockpool.nn.modules.jax.lif_jax")
    before = module.step_pwl
    assert answers("rockpool-jax")[0].any()
    assert module.step_pwl is before
    neuron = adapter_of("rockpool-jax").neuron(NEURONS["soft"], (4,))
    with pytest.raises((TypeError, ValueError)):
        neuron(np.zeros((3, 1, 5), np.float32))
    assert module.step_pwl is before
