"""brainevent's product takes binary arrays only: other inputs are refused before it runs."""

import pytest
from support.proofs import refusal_of

from snnbench.adapters.brainevent import Brainevent
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.workloads import workload_of
from snnbench.workloads.builder import Builder


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({}, None),
        ({"input": "events"}, None),
        ({"input": "dense"}, "a binary array takes spikes, and this input is dense"),
        ({"precision": "bf16"}, "Numba, which compiles brainevent's product on a CPU, has no bf16"),
        ({"neuron": NeuronSpec("soft", max_spikes=2)}, "a binary array holds no counts"),
        ({"workload": "mnist-mlp", "input": "rate"}, None),
        ({"workload": "cifar-small"}, None),
        ({"workload": "lif"}, "default is about the linear layer in front of a neuron"),
    ],
)
def test_only_products_of_spikes_are_offered(axes, reason):
    case = Case("brainevent", **axes)
    refusal = refusal_of(Brainevent(), workload_of(case).small_case(case, case.input))
    assert refusal is None if reason is None else (refusal or "").startswith(reason)


def test_a_mean_of_spikes_is_no_binary_array():
    net = Builder(Case("brainevent"), (1, 4, 4))
    net.neuron()
    net.mean_of_image()
    net.linear(5)
    net.neuron()
    refusal = Brainevent().refuses(Case("brainevent"), net.network)
    assert refusal == "a binary array takes spikes, and linear1 reads avg_pool1"
