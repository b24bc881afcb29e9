"""In which order cases are run, and how long they may take."""

import random

from snnbench.adapters.base.case import Case


def order(cases: list[Case], rounds: int, seed: int) -> list[tuple[int, Case]]:
    """(round, case) pairs. Every round has every case, in a random order of its own that depends on the seed."""
    pairs = []
    for round in range(rounds):
        shuffled = list(cases)
        random.Random(f"{seed} {round}").shuffle(shuffled)
        pairs += [(round, case) for case in shuffled]
    return pairs


def estimate_seconds(case: Case, rounds: int, budget: float) -> float:
    """A guess of the seconds that a case takes: start and imports, proof, and the budget it may use."""
    products = (case.neurons or 1) ** 2 * (case.layers or 1)
    start, proof = 3.0, 0.5 + 1e-10 * case.time_steps * case.batch * products
    return rounds * (start + budget) + proof
