"""The order, the parts and the expected time of cases, and which of them to skip."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..common.mistakes import ConfigError
from ..common.units import counted
from ..core.case import SIZES, Case, sizes

Item = TypeVar("Item")


def comparison_groups(cases: list[Case]) -> list[list[Case]]:
    """Returns groups of cases that differ only in their variant; a group is measured side by
    side."""
    groups: dict[Case, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.point, []).append(case)
    return list(groups.values())


def shuffled(items: Sequence[Item], seed: int, block: int) -> list[Item]:
    """Returns `items` in an order that depends on the seed and the block."""
    return random.Random(f"{seed} {block}").sample(items, len(items))


def estimate_seconds(case: Case, blocks: int, timed: float) -> float:
    """Estimates the seconds of a case: start and imports, proof, and `timed` seconds of slots in
    each block. Compile times are those of results/example; the cache is empty in the first
    block."""
    products = (case.neurons or 1) ** 2 * (case.layers or 1)
    start, proof = 3.0, 0.5 + 1e-10 * case.time_steps * case.batch * products
    compiling = 90.0 + 15.0 * blocks if case.mode.startswith("compile") else 0.0
    return blocks * (start + timed) + proof + compiling


def dominated(case: Case, failed: list[tuple[Case, str]]) -> str | None:
    """Returns why a case is skipped: a smaller one, of `failed`, ran out of memory or time."""
    case_sizes = {name: size for name in SIZES if (size := getattr(case, name)) is not None}
    for smaller, status in failed:
        same_kind = replace(smaller, **case_sizes) == case
        if (
            same_kind
            and smaller != case
            and all(getattr(smaller, name) <= size for name, size in case_sizes.items())
        ):
            return f"the smaller case {sizes(smaller)} ended as {status}"
    return None


@dataclass(frozen=True)
class Shard:
    """Part `index` (from 1) of `count` parts of a plan, for one of several machines. The same plan
    has the same parts everywhere."""

    index: int = 1
    count: int = 1

    def of(self, cases: list[Case]) -> list[Case]:
        """Returns the cases of this part, in their order. Comparison groups stay together. The
        longest are dealt first, each to the part with the least work. Raises ConfigError for too
        many parts."""
        groups = comparison_groups(cases)
        if self.count > len(groups):
            together = "cases that differ in framework only stay together"
            most = f"{'are' if len(groups) > 1 else 'is'} at most {counted(len(groups), 'part')}"
            raise ConfigError(f"--shard {self}: {together}, so there {most}")
        load = [0.0] * self.count
        mine: set[Case] = set()
        for group in sorted(groups, key=_seconds, reverse=True):
            lightest = load.index(min(load))
            load[lightest] += _seconds(group)
            if lightest == self.index - 1:
                mine |= set(group)
        return [case for case in cases if case in mine]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def _seconds(group: list[Case]) -> float:
    """Counts cases that cannot run here too: machines differ in these, and the parts must not."""
    return sum(estimate_seconds(case, 1, 1.0) for case in group)


def parse_shard(text: str) -> Shard:
    """Parses `2/3`. Raises ConfigError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(
            f"--shard {text}: must look like 2/3, the second of three parts (1/3 to 3/3)"
        )
    return Shard(int(match[1]), int(match[2]))
