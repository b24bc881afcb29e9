"""In which order cases are run, which need not be tried, and how long they may take."""

import random
from dataclasses import replace

from snnbench.adapters.base.case import Case

GROWING = ("layers", "neurons", "time_steps", "batch")
"""Axes along which a case only gets bigger."""


def order(cases: list[Case], rounds: int, seed: int) -> list[tuple[int, Case]]:
    """(round, case) pairs. Every round has every case, in a random order of its own that depends on the seed."""
    pairs = []
    for round in range(rounds):
        shuffled = list(cases)
        random.Random(f"{seed} {round}").shuffle(shuffled)
        pairs += [(round, case) for case in shuffled]
    return pairs


def dominated(case: Case, failed: list[tuple[Case, str]]) -> str | None:
    """Why a case need not be tried: a smaller one of the same kind, of `failed`, ran out of memory or time."""
    growing = [axis for axis in GROWING if getattr(case, axis) is not None]
    for smaller, status in failed:
        same_kind = replace(smaller, **{axis: getattr(case, axis) for axis in GROWING}) == case
        if same_kind and smaller != case and all(getattr(smaller, axis) <= getattr(case, axis) for axis in growing):
            sizes = ", ".join(f"{axis} = {getattr(smaller, axis)}" for axis in growing)
            return f"the smaller case {sizes} ended as {status}"
    return None


def estimate_seconds(case: Case, rounds: int, budget: float) -> float:
    """A guess of the seconds that a case takes: start and imports, proof, and the budget it may use."""
    products = min(case.neurons or 1, 2048) ** 2 * (case.layers or 1)
    start, proof = 3.0, 0.5 + 1e-10 * case.time_steps * case.batch * products
    return rounds * (start + budget) + proof
