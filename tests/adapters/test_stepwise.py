"""Construction stepwise: the linear layer inside the time loop computes the same network, where
a loop can hold it. Construction checkpointed: so do segments that backward runs again."""

import numpy as np
import pytest
import torch
from support.expected import adapter_of
from support.networks import network_of
from support.proofs import loaded, proof_of, refusal_of

from snnbench.adapters import TorchAdapter, Unsupported
from snnbench.adapters.base.time_loop import Checkpointed
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec

SIZES = {"time_steps": 31, "batch": 5, "neurons": 61}


@pytest.mark.parametrize(
    "changes", [{"layers": 2, "bias": False}, {"precision": "bf16"}, {"input_grad": False}]
)
def test_it_is_the_same_network_in_stacks_and_short_formats(changes):
    proof = proof_of(TorchLoop(), Case("torch", "stepwise", **SIZES, **changes))
    assert proof.passed, proof.reason


def test_every_step_has_a_product_of_its_own():
    case, rows = Case("torch", "stepwise", **SIZES), []
    program = TorchLoop().program(case, network_of(case))
    program.network.layers[0].linear.register_forward_hook(
        lambda module, given, result: rows.append(len(given[0]))
    )
    program.inference(program.put_input(np.zeros((31, 5, 61), np.float32)))
    assert rows == [5] * 31


def test_it_gives_the_spikes_of_the_default_construction():
    spikes = []
    for construction in ("default", "stepwise"):
        program, problem = loaded(TorchLoop(), Case("torch", construction, **SIZES))
        spikes.append(
            program.spikes(program.inference(program.put_input(problem.input)))["neuron1"]
        )
    assert np.array_equal(*spikes)


def test_where_it_makes_no_sense_it_is_refused_with_a_reason():
    assert "no linear layer" in refusal_of(
        TorchLoop(), Case("torch", "stepwise", workload="lif", bias=False)
    )
    assert "its time loop cannot be cut" in refusal_of(
        adapter_of("rockpool"), Case("rockpool", "stepwise")
    )
    assert "has no construction 'stepwise'" in refusal_of(
        adapter_of("jax"), Case("jax", "stepwise")
    )

    class Whole(TorchAdapter):
        name = "whole"

        def neuron(self, spec, features):
            return torch.nn.Identity()

    with pytest.raises(Unsupported, match="whole's neuron hands out no state"):
        case = Case("whole", "stepwise", **SIZES)
        Whole().program(case, network_of(case))


def test_an_adapter_chooses_the_network_of_the_neuron_alone():
    class Choosing(TorchLoop):
        constructions = {"default": set(), "other": set()}

        def lif(self, spec, features, construction):
            return {"default": torch.nn.Identity, "other": torch.nn.Hardtanh}[construction]()

    for construction, kind in (("default", torch.nn.Identity), ("other", torch.nn.Hardtanh)):
        case = Case("torch", construction, workload="lif", bias=False)
        (layer,) = Choosing().program(case, network_of(case)).network.layers
        assert isinstance(layer, kind)


def test_checkpoints_change_nothing_and_run_each_segment_again():
    torch.manual_seed(0)
    linear, neuron = torch.nn.Linear(5, 7), TorchLoop().recurrent(NeuronSpec(), 7, "default")
    x, results, lengths = torch.randn(31, 3, 5), [], []
    loop = Checkpointed(linear, neuron)
    assert loop.recurrent is neuron.recurrent
    linear.register_forward_hook(lambda module, given, result: lengths.append(len(given[0])))
    for run in (loop, lambda x: neuron(linear(x))):
        leaf = x.clone().requires_grad_()
        spikes = run(leaf)
        leaves = [leaf, *loop.parameters()]
        results.append([spikes, *torch.autograd.grad(spikes.sum(), leaves)])
    assert results[0][0].any() and torch.equal(results[0][0], results[1][0])
    for checkpointed, plain in zip(*results, strict=True):
        assert torch.allclose(checkpointed, plain, rtol=1e-5, atol=1e-6)
    segments = [5] * 6 + [1]
    assert lengths == [*segments, *segments[::-1], 31]
