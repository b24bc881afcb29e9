"""The model of ranks that share time steps, against a simulation of its events."""

import itertools
from math import sqrt

import pytest

from snnbench.measure.pipeline import Prediction, Terms

LAYERS = {(layers, spatial, neurons, handover) for layers in (1, 2, 5, 18, 34) for spatial, neurons, handover in (
    (1.0, 0.1, 0.01), (1.0, 1.0, 0.001), (0.2, 1.0, 0.05), (3.0, 0.05, 0.0005), (0.0, 0.3, 0.1), (0.7, 0.2, 0.0)
)}  # fmt: skip


def simulated(terms: Terms, ranks: int) -> float:
    """Simulates the same as events: every rank computes its part of every layer, and waits for
    the state of the rank before."""
    spatial = (terms.whole / terms.layers - terms.neurons) / ranks
    free = [0.0] * ranks
    for _ in range(terms.layers):
        state_there = 0.0
        for rank in range(ranks):
            free[rank] = max(free[rank] + spatial, state_there) + terms.neurons / ranks
            state_there = free[rank] + terms.handover
    return max(free) + (terms.reduction if ranks > 1 else 0.0)


def terms_of(layers, spatial, neurons, handover, reduction=0.0):
    return Terms(layers * (spatial + neurons), neurons, handover, layers, reduction)


@pytest.mark.parametrize("given", sorted(LAYERS), ids=str)
def test_the_formula_is_the_simulation(given):
    for ranks, reduction in itertools.product(range(1, 65), (0.0, 0.02)):
        terms = terms_of(*given, reduction)
        assert terms.seconds(ranks) == pytest.approx(simulated(terms, ranks), rel=1e-12)


@pytest.mark.parametrize(
    "given", [(8, 1.0, 0.1, 0.02), (34, 1.0, 0.1, 0.005), (2, 0.3, 0.2, 0.001)]
)
def test_no_number_of_ranks_is_better_than_the_optimum(given):
    terms = terms_of(*given)
    best = min(range(1, 513), key=terms.seconds)
    assert abs(best - terms.optimum) < 1
    assert terms.optimum == pytest.approx(sqrt((terms.whole - terms.neurons) / terms.handover))


def test_a_layer_that_is_nothing_but_neurons_gains_nothing():
    terms = terms_of(1, 0.0, 0.3, 0.01)
    assert terms.optimum == 1 and all(
        terms.seconds(ranks) > terms.seconds(1) for ranks in range(2, 9)
    )
    assert terms_of(3, 1.0, 0.1, 0.0).optimum == float("inf")


def test_a_prediction_holds_its_middle():
    quartiles = {
        "whole": [0.9, 1.0, 1.2],
        "neurons": [0.1, 0.11, 0.12],
        "handover": [1e-4, 2e-4, 4e-4],
    }
    quartiles["reduction"] = [0.0, 0.001, 0.01]
    prediction = Prediction.of(quartiles, layers=5)
    for middle, least, most in (prediction.seconds(4), prediction.optimum):
        assert least < middle < most
