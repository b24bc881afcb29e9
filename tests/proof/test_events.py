"""Spikes and operations, counted one by one."""

import numpy as np
import pytest
from support.networks import sized

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.calibration import calibrate
from snnbench.proof.free_run import free_run, operations, read_free_run, write_free_run
from snnbench.proof.problem import generate
from snnbench.workloads import workload_of


def counted(network, x, parameters):
    found = {}
    oracle.forward(
        network,
        parameters,
        x,
        on_node=lambda run, node: found.update({node.name: operations(network, node, run)}),
    )
    return found


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(3, 1, 1), (3, 2, 0), (2, 2, 1), (5, 3, 2)]
)
def test_operations_of_a_convolution(kernel, stride, padding):
    options = {"outputs": 4, "kernel": kernel, "stride": stride, "padding": padding, "bias": False}
    network = Network(
        (2, 7, 9),
        (
            Node("c", "conv", (INPUT,), options),
            Node("n", "neuron", ("c",), {"neuron": NeuronSpec()}),
        ),
    )
    x = (np.random.default_rng(0).random((5, 3, 2, 7, 9)) < 0.3).astype(np.float32)
    ones = {"c": {"weight": np.ones(network.parameters["c"]["weight"], np.float32)}}
    sparse, dense = counted(network, x, ones)["c"]
    # With weights of one, every product with a one adds 1 to what the convolution hands out.
    assert sparse == oracle.forward(network, ones, x).values["c"].sum()
    assert dense == oracle.forward(network, ones, np.ones_like(x)).values["c"].sum()
    assert counted(network, x, ones)["n"] == (0, 0)


def test_operations_of_linear_and_recurrent_layers():
    nodes = (
        Node("l", "linear", (INPUT,), {"outputs": 11}),
        Node("n", "neuron", ("l",), {"neuron": NeuronSpec(), "recurrent": True}),
    )
    network = Network((13,), nodes)
    x = (np.random.default_rng(0).random((5, 3, 13)) < 0.3).astype(np.float32)
    parameters = {"l": {"weight": np.ones((11, 13), np.float32), "bias": np.zeros(11, np.float32)}}
    parameters["n"] = {"recurrent": np.zeros((11, 11), np.float32)}
    spikes = oracle.forward(network, parameters, x).spikes["n"]
    found = counted(network, x, parameters)
    assert found == {
        "l": (x.sum() * 11, x.size * 11),
        "n": (spikes[:-1].sum() * 11, 4 * 3 * 11 * 11),
    }
    assert found["n"][0] > 0


@pytest.mark.parametrize("workload", ["linear-lif", "cifar-small", "recurrent-lif"])
def test_a_free_run_has_the_work_of_its_problem(tmp_path, workload):
    case = sized(workload)
    free = free_run(case, network := workload_of(case).network(case))
    sizes = {
        name: case.time_steps * case.batch * np.prod(network.shapes[name])
        for name in network.neurons
    }
    assert free.work["spikes"] == round(
        sum(rate * sizes[name] for name, rate in free.rates.items())
    )
    assert 0 < free.work["synaptic_operations"] < free.work["dense_operations"]
    write_free_run(case, tmp_path / "free.npz")
    assert read_free_run(tmp_path / "free.npz").work == free.work


def test_a_lean_run_counts_the_same(monkeypatch):
    case = sized("cifar-small")
    network = workload_of(case).network(case)
    problem = generate(case, network, calibrate(case, network))
    whole = counted(network, problem.input, problem.parameters)
    monkeypatch.setattr(oracle, "LEAN", 0)
    assert counted(network, problem.input, problem.parameters) == whole


def test_a_free_run_of_an_earlier_version_has_none(tmp_path):
    path = tmp_path / "free.npz"
    case = Case("torch", neurons=5, time_steps=7, batch=3)
    write_free_run(case, path)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in ("neurons", "gains", "rates", "spikes")}
    np.savez_compressed(path, **arrays)
    free = read_free_run(path)
    assert (
        free.work == {}
        and not free.seeded
        and "work" not in free.facts(workload_of(case).network(case))
    )
