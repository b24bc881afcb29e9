"""The float64 oracle of whole networks against autograd of the same networks in torch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.autograd import value_of
from support.networks import READOUTS, TINY
from support.proofs import problem_of

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.measure.phases import Draw
from snnbench.proof import layers, oracle
from snnbench.proof.problem import drawn, in_inference
from snnbench.proof.stages import with_statistics

CASE = Case("any", neurons=97, time_steps=37, batch=3)


def windows(stride, padding):
    """Convolutions with bias and both pools, every window reaching over the edge where there is
    padding."""
    sizes = {"kernel": 3, "stride": stride, "padding": padding}
    return Network(
        (2, 9, 11),
        (
            Node("conv1", "conv", (INPUT,), {"outputs": 3, **sizes}),
            Node("neuron1", "neuron", ("conv1",), {"neuron": NeuronSpec()}),
            Node("pool1", "avg_pool", ("neuron1",), {"kernel": 2, "stride": 1, "padding": padding}),
            Node("norm1", "norm", ("pool1",), {"epsilon": 1e-3}),
            Node("pool2", "max_pool", ("norm1",), {"kernel": 2, "stride": 2, "padding": padding}),
        ),
    )


def assert_same_as_autograd(network, parameters, x, upstream):
    """Values and all gradients agree to a relative L2 error of 1e-12."""
    leaves = {
        n: {k: torch.tensor(a, dtype=torch.float64, requires_grad=True) for k, a in p.items()}
        for n, p in parameters.items()
    }
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = value_of(network, leaves, leaf)
    value.backward(torch.tensor(upstream, dtype=torch.float64))
    run = oracle.forward(network, parameters, x)
    gradients, of_input = oracle.backward(network, run, upstream)
    pairs = [(run.values[network.output.name], value.detach()), (of_input, leaf.grad)]
    pairs += [
        (array, leaves[n][k].grad) for n, arrays in gradients.items() for k, array in arrays.items()
    ]
    assert len(pairs) == 2 + sum(len(arrays) for arrays in parameters.values())
    for ours, theirs in pairs:
        assert np.linalg.norm(oracle.whole(ours) - theirs.numpy()) <= 1e-12 * np.linalg.norm(theirs)
    return run, gradients


@pytest.mark.parametrize("neuron", NEURONS)
@pytest.mark.parametrize(
    "changes",
    [
        {"layers": 2},
        {"workload": "contract", **TINY},
        {"workload": "recurrent"},
        {"workload": "potentials"},
        {"workload": "attention", **TINY},
        *({"workload": readout} for readout in READOUTS),
    ],
    ids=lambda changes: changes.get("workload", "linear-lif"),
)
def test_values_and_gradients_are_those_of_autograd(neuron, changes):
    problem = problem_of(replace(CASE, neuron=NEURONS[neuron], **changes))
    run, gradients = assert_same_as_autograd(
        problem.network, problem.parameters, problem.input, problem.upstream
    )
    assert all(0.05 < spikes.mean() < 0.6 for spikes in run.spikes.values())
    assert all(
        oracle.whole(array).any() for arrays in gradients.values() for array in arrays.values()
    )


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (1, 1), (2, 1), (3, 0)])
def test_windows_of_every_stride_and_padding(stride, padding):
    network, random = windows(stride, padding), np.random.default_rng(0)
    parameters = {
        n: {k: random.standard_normal(s) for k, s in p.items()}
        for n, p in network.parameters.items()
    }
    upstream = random.standard_normal((5, 3, *network.shapes["pool2"]))
    assert_same_as_autograd(network, parameters, random.standard_normal((5, 3, 2, 9, 11)), upstream)


def test_of_equal_values_in_a_pool_the_first_in_row_major_order_has_the_gradient():
    network = Network((1, 2, 2), (Node("pool1", "max_pool", (INPUT,), {"kernel": 2, "stride": 2}),))
    x = np.array([0.0, 1, 1, 1]).reshape(1, 1, 1, 2, 2)
    _, of_input = oracle.backward(network, oracle.forward(network, {}, x), np.ones((1, 1, 1, 1, 1)))
    assert of_input.ravel().tolist() == [0, 1, 0, 0]


def test_statistics_of_a_norm_have_the_unbiased_variance():
    problem = problem_of(replace(CASE, workload="contract", **TINY))
    run = oracle.forward(problem.network, problem.parameters, problem.input)
    seen = run.values["conv1"]
    np.testing.assert_allclose(run.statistics["norm1"]["mean"], seen.mean(axis=(0, 1, 3, 4)))
    np.testing.assert_allclose(
        run.statistics["norm1"]["variance"], seen.var(axis=(0, 1, 3, 4), ddof=1)
    )


@pytest.mark.parametrize("workload", ["linear-lif", "contract", "recurrent", "potentials"])
def test_forced_on_its_own_spikes_it_is_the_free_one(workload):
    problem = problem_of(
        replace(CASE, workload=workload, **(TINY if workload == "contract" else {}))
    )
    free = oracle.forward(problem.network, problem.parameters, problem.input)
    forced = oracle.forward(problem.network, problem.parameters, problem.input, free.spikes)
    for name, value in free.values.items():
        np.testing.assert_array_equal(forced.values[name], value)


def test_a_forced_flip_does_not_change_what_later_neurons_are_judged_by():
    """A recurrent neuron takes the framework's own spike back, and decides by it."""
    problem = problem_of(replace(CASE, workload="recurrent"))
    free = oracle.forward(problem.network, problem.parameters, problem.input)
    spikes = {name: array.copy() for name, array in free.spikes.items()}
    spikes["neuron1"][10, 1, 5] = 1 - spikes["neuron1"][10, 1, 5]
    forced = oracle.forward(problem.network, problem.parameters, problem.input, spikes)
    changed = np.argwhere(forced.potentials["neuron1"] != free.potentials["neuron1"])
    assert changed[:, 0].min() == 11 and {
        tuple(place) for place in changed[changed[:, 0] == 11]
    } == {(11, 1, n) for n in range(11)}
    np.testing.assert_array_equal(forced.values["neuron1"], spikes["neuron1"])


@pytest.mark.parametrize(
    "workload", ["contract", "recurrent", "potentials", "resnet34", "sew-resnet18"]
)
def test_a_lean_run_gives_the_same_and_holds_little(workload, monkeypatch):
    """In resnet34 potentials are added to potentials, from the first block of a stage to the
    last."""
    sizes = {"width": 4, "image": 16, "classes": 7} if "resnet" in workload else {}
    problem = problem_of(replace(CASE, workload=workload, **TINY, **sizes))
    network, seen = problem.network, dict[str, np.ndarray]()
    free = oracle.forward(network, problem.parameters, problem.input)
    expected = oracle.backward(network, free, problem.upstream)
    monkeypatch.setattr(oracle, "LEAN", 0)
    monkeypatch.setattr(layers, "MOST_WINDOWS", 1)
    monkeypatch.setattr(layers, "MOST_VALUES", 1)

    def look(run, neuron):
        seen[neuron] = run.potentials[neuron]

    lean = oracle.forward(network, problem.parameters, problem.input, free.spikes, on_neuron=look)
    for neuron in network.neurons:
        np.testing.assert_allclose(seen[neuron], free.potentials[neuron], rtol=1e-9, atol=1e-12)
    assert not lean.pulls and len(lean.values) <= 2 + len(
        [node for node in network.nodes if node.kind == "add"]
    )
    by_parameter, of_input = oracle.backward(network, lean, problem.upstream)
    np.testing.assert_allclose(
        oracle.whole(of_input), oracle.whole(expected[1]), rtol=1e-9, atol=1e-12
    )
    for node, arrays in expected[0].items():
        for name, array in arrays.items():
            np.testing.assert_allclose(
                oracle.whole(by_parameter[node][name]), oracle.whole(array), rtol=1e-7, atol=1e-10
            )


def test_an_inference_normalises_by_running_statistics_as_torch_s_norm_does_in_eval_mode():
    problem = with_statistics(problem_of(replace(CASE, workload="contract", **TINY)))
    assert problem.statistics.keys() == {"norm1", "norm2", "norm3"}
    result = oracle.forward(problem.network, in_inference(problem).parameters, problem.input)
    assert not result.statistics, "an inference moves none"
    for name, own in problem.statistics.items():
        (before,) = problem.network.node(name).inputs
        norm = torch.nn.BatchNorm2d(len(own["mean"])).double().eval()
        norm.load_state_dict(
            {
                **{key: torch.tensor(value) for key, value in problem.parameters[name].items()},
                "running_mean": torch.tensor(own["mean"]),
                "running_var": torch.tensor(own["variance"]),
                "num_batches_tracked": torch.tensor(0),
            }
        )
        images = torch.tensor(result.values[before]).flatten(0, 1)
        np.testing.assert_allclose(
            result.values[name], norm(images).detach().unflatten(0, (5, 3)), rtol=1e-12, atol=1e-12
        )


def test_statistics_are_rolled_with_the_parameters_of_a_call():
    problem = with_statistics(problem_of(replace(CASE, workload="contract", **TINY)))
    called = drawn(problem, Draw(0, 3, 6, 0))
    for name, own in problem.statistics.items():
        np.testing.assert_array_equal(called.statistics[name]["mean"], np.roll(own["mean"], 6))
