"""Construction stepwise: the linear layer inside the time loop computes the same network, where a loop can hold it."""

import numpy as np
import pytest
import torch

from snnbench.adapters import TorchAdapter, registry
from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import Unsupported
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.kernels.spec import NEURONS
from snnbench.proof.problem import calibrate, generate, proved
from snnbench.proof.stages import prove

SIZES = {"time_steps": 31, "batch": 5, "neurons": 61}
LOOPS = ["torch", "snntorch", "norse", "sinabs", "spikingjelly"]


@pytest.mark.frameworks
@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_framework_step_by_step_is_the_same_network(name, neuron):
    adapter = registry.load(registry.BUILT_IN[name])
    case = Case(name, "stepwise", neuron=NEURONS[neuron], **SIZES)
    if name == "spikingjelly" and neuron == "none":
        assert adapter.refuses(case) == "LIFNode has no reset 'none'"
        return
    assert adapter.refuses(case) is None
    proof = prove(adapter, case, calibrate(proved(case)))
    assert proof.passed, proof.reason


@pytest.mark.parametrize("changes", [{"layers": 2, "bias": False}, {"precision": "bf16"}, {"input_grad": False}])
def test_it_is_so_in_stacks_and_short_formats(changes):
    case = Case("torch", "stepwise", **SIZES, **changes)
    proof = prove(TorchLoop(), case, calibrate(proved(case)))
    assert proof.passed, proof.reason


def test_every_step_has_a_product_of_its_own():
    case, rows = Case("torch", "stepwise", **SIZES), []
    program = TorchLoop().program(case)
    program.layers[0].linear.register_forward_hook(lambda module, given, result: rows.append(len(given[0])))
    program.inference(program.put_input(np.zeros((31, 5, 61), np.float32)))
    assert rows == [5] * 31


def test_it_gives_the_spikes_of_the_default_construction():
    found = []
    for construction in ("default", "stepwise"):
        case = Case("torch", construction, **SIZES)
        problem = generate(case, calibrate(case))
        program = TorchLoop().program(case)
        program.load(problem.weights, problem.biases)
        found.append(program.spikes(program.inference(program.put_input(problem.input)))[0])
    assert np.array_equal(*found)


def test_where_it_makes_no_sense_it_is_refused_with_a_reason():
    assert "workload lif has no linear layer" in TorchLoop().refuses(Case("torch", "stepwise", workload="lif"))
    rockpool = registry.load(registry.BUILT_IN["rockpool"])
    assert "its time loop cannot be cut" in rockpool.refuses(Case("rockpool", "stepwise"))
    assert "has no construction 'stepwise'" in registry.load(registry.BUILT_IN["jax"]).refuses(Case("jax", "stepwise"))

    class Whole(TorchAdapter):
        name = "whole"

        def neuron(self, spec, features):
            return torch.nn.Identity()

    with pytest.raises(Unsupported, match="whole's neuron hands out no state"):
        Whole().program(Case("whole", "stepwise", **SIZES))


def test_an_adapter_chooses_the_network_of_the_neuron_alone():
    class Choosing(TorchLoop):
        constructions = ("default", "other")

        def lif(self, spec, features, construction):
            return {"default": torch.nn.Identity, "other": torch.nn.Hardtanh}[construction]()

    for construction, kind in (("default", torch.nn.Identity), ("other", torch.nn.Hardtanh)):
        (layer,) = Choosing().program(Case("torch", construction, workload="lif", bias=False)).layers
        assert isinstance(layer, kind)
