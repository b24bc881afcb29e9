"""The stored free run of an oracle comes back as it was, and what is damaged is known for it."""

import os
from dataclasses import replace

import numpy as np
import pytest
from support.expected import adapter_of
from support.proofs import proof_of

from snnbench.core.case import Case
from snnbench.core.network import Network
from snnbench.kernels.spec import NEURONS
from snnbench.proof.free_run import free_run, is_whole, read_free_run, write_free_run
from snnbench.proof.problem import draw_parameters, generate
from snnbench.workloads import workload_of

CASE = Case("any", neurons=31, time_steps=37, batch=3)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems") / "free.npz"
    write_free_run(CASE, path)
    return path


def test_it_comes_back_as_it_was(stored):
    free, again = free_run(CASE, workload_of(CASE).network(CASE)), read_free_run(stored)
    assert (again.gains, again.rates) == (free.gains, free.rates)
    np.testing.assert_array_equal(again.spikes, free.spikes)
    assert is_whole(stored)


def test_so_do_the_statistics_of_its_norms(tmp_path):
    case = Case("any", workload="cifar-small", width=8, image=8, classes=7, norm=True, time_steps=3)
    write_free_run(case, tmp_path / "free.npz")
    free = free_run(case, network := workload_of(case).network(case))
    again = read_free_run(tmp_path / "free.npz").statistics
    assert again.keys() == {node.name for node in network.nodes if node.kind == "norm"}
    for name, arrays in free.statistics.items():
        assert arrays.keys() == again[name].keys() == {"mean", "variance"}
        for key, array in arrays.items():
            np.testing.assert_array_equal(again[name][key], array)


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "one bit flipped": flipped,
    "text": lambda content: b"gains",
    "a pickle": lambda content: b"\x80\x04N.",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_no_free_run_and_the_message_does_not_say_to_unpickle_it(
    stored, tmp_path, damage
):
    path = tmp_path / "free.npz"
    path.write_bytes(DAMAGE[damage](stored.read_bytes()))
    assert not is_whole(path)
    with pytest.raises(
        ValueError, match=r"free.npz is damaged \(\w+\); it is made again in the next run"
    ):
        read_free_run(path)


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "free.npz"
    np.savez(path, neurons=np.array([print], object), gains=[1.0], rates=[0.1], spikes=[1])
    assert not is_whole(path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: None])
def test_what_is_no_file_is_no_free_run(tmp_path, make):
    make(tmp_path / "free.npz")
    assert not is_whole(tmp_path / "free.npz")


RECURRENT = Case("any", workload="recurrent-lif", neurons=64, batch=2, neuron=NEURONS["hard"])


@pytest.mark.parametrize(
    ("reset", "detached"), [("hard", True), ("none", False), ("soft", True), ("soft", False)]
)
def test_recurrent_weights_are_halved_until_no_gradient_grows_over_many_steps(
    reset, detached, tmp_path
):
    neuron = replace(NEURONS["soft"], reset=reset, detach_reset=detached)
    case = replace(RECURRENT, neuron=neuron, time_steps=2000)
    network = workload_of(case).network(case)
    write_free_run(case, tmp_path / "free.npz")
    free = read_free_run(tmp_path / "free.npz")
    halvings = free.gains.halvings.get("neuron1", 0)
    assert (halvings > 0) == ((reset, detached) != ("soft", False))
    assert free.growth < 1.01 and free.unsuitable is None
    drawn = draw_parameters(case, network, "neuron1")["recurrent"]
    np.testing.assert_array_equal(
        generate(case, network, free.gains).parameters["neuron1"]["recurrent"],
        drawn * np.float32(free.gains.factors["neuron1"]) * np.float32(0.5**halvings),
    )


def test_recurrent_weights_stay_where_the_steps_are_few(tmp_path):
    case = replace(RECURRENT, time_steps=37)
    write_free_run(case, tmp_path / "free.npz")
    free = read_free_run(tmp_path / "free.npz")
    assert (
        free.gains.factors.keys() == {"neuron1"}
        and not free.gains.halvings
        and 1.01 < free.growth < 1.3
    )


def test_own_recurrent_weights_with_gradients_beyond_float32_are_refused_by_name():
    case = replace(RECURRENT, time_steps=2000)
    network = workload_of(case).network(case)
    given = {name: draw_parameters(case, network, name) for name in network.parameters}
    own = Network(network.input, network.nodes, given)
    assert free_run(case, own).unsuitable == (
        "unsuitable problem: the gradient grows by 1.041 a step, over 2000 steps beyond float32, "
        "so no framework can compute it"
    )
    assert free_run(replace(case, time_steps=100), own).unsuitable is None


@pytest.mark.slow
@pytest.mark.frameworks
@pytest.mark.parametrize("framework", ["torch", "jax"])
@pytest.mark.parametrize("reset", ["soft", "hard", "none"])
def test_a_recurrent_layer_is_proved_over_many_steps(framework, reset):
    neuron = replace(NEURONS["soft"], reset=reset, detach_reset=reset == "hard")
    case = replace(RECURRENT, framework=framework, neuron=neuron, time_steps=2000)
    proof = proof_of(adapter_of(framework), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("steps", [1, 2])
def test_a_recurrent_neuron_of_one_step_or_two_has_a_free_run(steps):
    case = replace(RECURRENT, time_steps=steps, batch=1)
    assert free_run(case, workload_of(case).network(case)).growth < 10
