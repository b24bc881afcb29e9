"""In which order cases are run, which need not be tried, and how long they may take."""

import random
from dataclasses import replace

from snnbench.adapters.base.case import Case

from .planned_case import PlannedCase

GROWING = ("layers", "neurons", "time_steps", "batch")
"""Axes along which a case only gets bigger."""


def order(cases: list[PlannedCase], rounds: int, seed: int) -> list[tuple[int, PlannedCase]]:
    """(round, case) pairs: every round has every case, in an order of its own that the seed decides."""
    pairs = []
    for round in range(rounds):
        shuffled = list(cases)
        random.Random(f"{seed} {round}").shuffle(shuffled)
        pairs += [(round, planned) for planned in shuffled]
    return pairs


def dominated(case: Case, failed: list[tuple[Case, str]]) -> str | None:
    """Why a case need not be tried: a smaller one of the same kind ran out of memory or time."""
    for smaller, status in failed:
        rest = {axis: getattr(case, axis) for axis in GROWING}
        same_kind = replace(smaller, **rest) == case
        if same_kind and smaller != case and all(getattr(smaller, axis) <= getattr(case, axis) for axis in GROWING):
            sizes = ", ".join(f"{axis} = {getattr(smaller, axis)}" for axis in GROWING)
            return f"the smaller case {sizes} ended as {status}"
    return None


def estimate_seconds(case: Case, rounds: int, budget: float) -> float:
    """A guess of what a case takes: start and imports, proof, and the budget it may use. An estimate, not a promise."""
    start, proof = 3.0, 0.5 + 1e-10 * case.time_steps * case.batch * min(case.neurons, 2048) ** 2 * case.layers
    return rounds * (start + budget) + proof
