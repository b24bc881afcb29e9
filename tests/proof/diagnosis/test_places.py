"""Where a fault is: in some neurons, steps or items, in one layer, in one node of a network; and
what has no name."""

from dataclasses import replace

import numpy as np
import pytest
from support.diagnosis import CASE, gradients_of, named, right_spec, spikes_of
from support.networks import contract
from support.proofs import problem_of

from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS
from snnbench.proof import oracle
from snnbench.proof.diagnosis import diagnose as module
from snnbench.proof.diagnosis import hypotheses
from snnbench.proof.diagnosis.shapes import shape_fault


def silenced(problem, place):
    border = spikes_of(problem)
    border[place] = 1 - border[place]
    return border


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (np.s_[:, :, 90:], "only the last neurons are wrong, from 90 to 96 (the tail of a tile?)"),
        (np.s_[:, :, 96:], "only the last neurons are wrong, from 96 to 96 (the tail of a tile?)"),
        (np.s_[:, :, [5, 40, 41]], "only some neurons are wrong: 5, 40, 41"),
        (np.s_[30:], "right for the first 30 steps only"),
        (np.s_[:, 1], "only batch item 1 is wrong"),
    ],
)
def test_the_place_of_wrong_decisions_is_told(place, words):
    problem = problem_of(CASE)
    assert named(problem, CASE, silenced(problem, place)) == words


@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
def test_any_start_but_rest(neuron):
    case = replace(CASE, neuron=NEURONS[neuron])
    problem = problem_of(case)
    start = np.random.default_rng(0).normal(0, 0.3, (3, 97))
    spikes = spikes_of(problem, change=lambda c: np.concatenate([c[:1] + start, c[1:]]))
    assert named(problem, case, spikes) == "not started from rest"


def test_scattered_wrong_decisions_have_no_name():
    problem = problem_of(CASE)
    border = spikes_of(problem)
    scattered = np.random.default_rng(0).random(border.shape) < 0.1
    assert named(problem, CASE, silenced(problem, scattered)) is None


# -- shapes ----------------------------------------------------------------------------------------


def test_of_a_stack_the_first_layer_is_looked_at():
    case = replace(CASE, layers=2)
    problem = problem_of(case)
    right = (
        oracle.forward(problem.network, problem.parameters, problem.input)
        .spikes["neuron1"]
        .astype(np.float32)
    )
    late = np.roll(right, 1, axis=0) * (np.arange(37) > 0)[:, None, None].astype(np.float32)
    assert (
        named(problem, case, {"neuron1": late, "neuron2": np.zeros_like(late)})
        == "neuron1 reads linear1 one step late"
    )


@pytest.mark.parametrize(
    ("neuron", "given", "words"),
    [
        ("neuron1", (4, 9, 11), None),
        ("neuron1", (4, 99), None),
        ("neuron1", (4, 5, 6), "pool1 stands in front of neuron1"),
        ("neuron1", (3, 9, 11), "conv1 gives another shape, as with outputs 3, not 4"),
        ("neuron1", (4, 7, 9), "conv1 gives another shape, as with padding 0, not 1"),
        ("neuron1", (2, 2), "conv1 gives another shape"),
        ("neuron2", (4, 4, 5), "pool1 gives another shape, as with padding 0, not 1"),
        ("neuron2", (1, 1, 1), "pool1 or conv2 gives another shape"),
    ],
)
def test_a_wrong_shape_names_the_node_that_gives_it(neuron, given, words):
    assert shape_fault(contract(CASE), neuron, given) == words


def test_currents_that_are_given():
    case = replace(CASE, workload="lif")
    problem = problem_of(case)
    wrong = replace(right_spec(problem), decay=0.93)
    spikes = spikes_of(problem, wrong)
    assert (
        named(problem, case, spikes, gradients_of(problem, spikes, wrong))
        == "the decay is about 0.93, not 0.9375"
    )
    spikes = spikes_of(problem)
    detached = gradients_of(problem, spikes, replace(right_spec(problem), detach_reset=True))
    assert (
        named(problem, case, spikes, detached)
        == "the reset is detached where it should be attached"
    )


@pytest.mark.slow
def test_wide_layers():
    case = Case("any", neurons=2100, time_steps=8, batch=2)
    problem = problem_of(case, 1.5)
    assert (
        named(problem, case, spikes_of(problem, NEURONS["none"]))
        == "resets like `none`, not `soft`"
    )
    assert named(problem, case, silenced(problem, np.s_[:, :, 2000:])).startswith(
        "only the last neurons are wrong, from 20"
    )
    spikes = spikes_of(problem)
    detached = gradients_of(problem, spikes, replace(right_spec(problem), detach_reset=True))
    assert (
        named(problem, case, spikes, detached)
        == "the reset is detached where it should be attached"
    )


def test_large_problems_are_diagnosed_on_a_part(monkeypatch):
    monkeypatch.setattr(module, "MOST_DECISIONS", 20 * 37 * 3)
    seen = []
    monkeypatch.setattr(
        module,
        "structures",
        lambda e: seen.append(e.right.spikes.shape) or hypotheses.structures(e),
    )
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    spikes[:, :, [8, 50]] = spikes[:, :, [50, 8]]
    assert named(problem, CASE, spikes).endswith("neurons 8 and 50 are swapped")
    assert seen and seen[0][2] <= 20


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_short_formats(precision):
    case = replace(CASE, precision=precision)
    problem = problem_of(case)
    assert (
        named(problem, case, spikes_of(problem, NEURONS["none"]))
        == "resets like `none`, not `soft`"
    )


@pytest.mark.parametrize(
    "border", [np.zeros((3, 37, 97), np.float32), np.full((37, 3, 97), np.nan, np.float32)]
)
def test_what_cannot_be_read_has_no_name(border):
    problem = problem_of(CASE)
    assert named(problem, CASE, border) is None


# -- networks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", ["contract", "recurrent", "potentials"])
@pytest.mark.parametrize("changes", [{"decay": 0.8}, {"threshold": 1.5}], ids=str)
def test_the_neuron_of_a_network_is_looked_at_on_what_its_nodes_give_it(workload, changes):
    """The second neuron is wrong; currents come through an add, from a linear, or are given out
    as potentials."""
    case = Case("any", workload=workload, time_steps=20, batch=3)
    problem = problem_of(case)
    network = problem.network
    wrong = replace(case.neuron, **changes)
    nodes = [
        replace(n, options={**n.options, "neuron": wrong}) if n.name == "neuron2" else n
        for n in network.nodes
    ]
    spikes = oracle.forward(
        replace(network, nodes=tuple(nodes)), problem.parameters, problem.input
    ).spikes
    ((field, value),) = changes.items()
    said = named(problem, case, {name: array.astype(np.float32) for name, array in spikes.items()})
    assert said.startswith("in neuron2: ") and f"the {field} is about {value:.2g}" in said


def test_a_recurrent_neuron_takes_its_own_spikes_back():
    case = Case("any", workload="recurrent", time_steps=37, batch=3)
    problem = problem_of(case)
    network, wrong = problem.network, replace(case.neuron, decay=0.5)
    nodes = [
        replace(n, options={**n.options, "neuron": wrong}) if n.name == "neuron1" else n
        for n in network.nodes
    ]
    spikes = oracle.forward(
        replace(network, nodes=tuple(nodes)), problem.parameters, problem.input
    ).spikes
    said = named(problem, case, {name: array.astype(np.float32) for name, array in spikes.items()})
    assert said == "in neuron1: the decay is about 0.5, not 0.9375"
