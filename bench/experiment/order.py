"""In which order cases are run, and how long they may take."""

import random
from collections.abc import Sequence
from typing import TypeVar

from ..core.case import Case

Item = TypeVar("Item")


def comparison_groups(cases: list[Case]) -> list[list[Case]]:
    """Cases that differ in nothing but who computes them: framework, construction, mode. These are measured side by side."""
    groups: dict[Case, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.point, []).append(case)
    return list(groups.values())


def shuffled(items: Sequence[Item], seed: int, block: int) -> list[Item]:
    """`items` in an order that depends on the seed and the block."""
    return random.Random(f"{seed} {block}").sample(items, len(items))


def estimate_seconds(case: Case, blocks: int, timed: float) -> float:
    """A guess of the seconds that a case takes: start and imports, proof, and `timed` seconds of slots in each block. What
    torch.compile takes is that of results/example: the first block's cache is empty."""
    products = (case.neurons or 1) ** 2 * (case.layers or 1)
    start, proof = 3.0, 0.5 + 1e-10 * case.time_steps * case.batch * products
    compiling = 90.0 + 15.0 * blocks if case.mode.startswith("compile") else 0.0
    return blocks * (start + timed) + proof + compiling
