"""The network behind a delivery, trained step by step or as in Lenz's comparison."""

import pytest
from support.expected import adapter_of
from support.proofs import proof_of, refusal_of
from support.recordings import data_case
from support.slow import representatives

from snnbench.core.case import RECIPES
from snnbench.workloads import workload_of
from snnbench.workloads.recipes import refused, trained_on


def behind(name, recipe, **changes):
    case = data_case("frames", "packed", behind=name, recipe=recipe, **changes)
    return case, trained_on(case, "default", "eager")


@pytest.mark.frameworks
@pytest.mark.parametrize("name", representatives(["torch", "sinabs", "fused"], [0]))
def test_the_comparison_s_network_is_proved(name):
    _, case = behind(name, "lenz")
    assert (case.spec.max_spikes, case.loss, case.spec.decay) == (1 << 16, "sum", 1.0)
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


def test_the_usual_recipe_is_the_case_without_one():
    usual, network = behind("torch", RECIPES[0])
    assert usual.recipe is None and usual.id == data_case("frames", "packed", behind="torch").id
    assert (network.spec.max_spikes, network.loss) == (1, "cross-entropy")
    assert data_case("frames", "packed", recipe="lenz").recipe is None, "nothing is trained"


@pytest.mark.frameworks
def test_neurons_of_one_spike_cannot_stand_behind():
    _, case = behind("snntorch", "lenz")
    assert refusal_of(adapter_of("snntorch"), case) == "snnTorch's neurons fire once a step"


def test_a_residual_network_is_of_recordings_of_cameras():
    case, network = behind("fused", "li", dataset="synthetic-nmnist")
    assert refused(case) is None and network.inputs is None
    assert (network.workload, network.optimizer) == ("spiking-resnet18", "adam")
    assert workload_of(network).network(network).input == (3, 34, 34)
    assert "these are sounds" in refused(behind("fused", "li")[0])
