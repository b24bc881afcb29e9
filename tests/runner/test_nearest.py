"""The nearest neuron that more frameworks compute, in one sentence."""

import pytest

from snnbench.experiment.setting import Setting
from snnbench.experiment.values import neuron_table, parse_neuron, parse_neuron_text
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.runner.check import plan_check, points_to_check
from snnbench.runner.nearest import differences, nearest_in_words, neighbours

LEAKY = "snntorch.Leaky(beta=0.95)"


def sentences(neurons, *names):
    points = points_to_check([Setting("grid.neuron", neurons, "--neuron")])
    return nearest_in_words(plan_check([*names], points, [])[0], [])


@pytest.mark.frameworks
def test_a_neuron_of_one_framework_has_one_sentence_with_the_nearest_that_more_compute():
    assert sentences([LEAKY], "torch", "snntorch", "norse", "sinabs", "spyx") == [
        "Besides torch, only snntorch computes soft-undecayed(detach_reset=True, decay=0.95, "
        "surrogate=atan); the nearest neuron that more compute is soft-undecayed(decay=0.95, "
        "surrogate=atan) (gradient through the reset), by sinabs and spyx:lif: "
        """--neuron '{ reset = "soft-undecayed", decay = 0.95, surrogate = "atan" }'."""
    ]
    assert sentences(["spyx.LIF(beta=0.9)"], "snntorch", "norse", "sinabs", "spyx") == [
        "sinabs and spyx:lif compute soft-undecayed(decay=0.9, slope=25.0): name them, as in sinabs "
        "spyx:lif."
    ]


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("neurons", "names"),
    [
        (["soft"], ["snntorch", "norse"]),  # both compute it
        ([LEAKY], ["snntorch", "torch"]),  # no other was asked
        ([LEAKY, "soft"], ["snntorch", "norse"]),  # several neurons
        (["native"], ["snntorch", "norse"]),
    ],
)
def test_where_there_is_nothing_to_say_it_says_nothing(neurons, names):
    assert sentences(neurons, *names) == []


@pytest.mark.parametrize(
    ("other", "changes", "away"),
    [
        ({"detach_reset": False}, ["gradient through the reset"], 1),
        ({"reset": "soft"}, ["a spike subtracts θ before the decay"], 3),
        ({"slope": 2.0}, ["surrogate atan of slope 2"], 1),
        ({"reset": "hard", "surrogate": "superspike"}, ["a spike resets to zero", "surrogate superspike of slope 1"], 4),
    ],
)  # fmt: skip
def test_what_changes_is_said_and_weighed(other, changes, away):
    spec = parse_neuron(LEAKY)
    changed = NeuronSpec(**{**spec.as_dict(), **other})
    weights, words = zip(*differences(spec, changed), strict=True)
    assert ([*words], sum(weights)) == (changes, away)
    assert changed in {*neighbours(spec)} or "slope" in other


def test_neighbours_are_without_what_few_frameworks_have():
    rare = parse_neuron("sinabs.LIF(tau_mem=20, tau_syn=5)")
    assert NeuronSpec("soft", decay=rare.decay) in {*neighbours(rare)}
    assert rare not in {*neighbours(rare)}


@pytest.mark.parametrize("spec", [*NEURONS.values(), *list(neighbours(parse_neuron(LEAKY)))[::5]])
def test_its_table_is_the_same_neuron(spec):
    assert parse_neuron_text(neuron_table(spec)) == spec
