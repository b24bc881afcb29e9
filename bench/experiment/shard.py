"""A part of a plan, for one of several machines: `2/3` is the second of three. The same plan has the same parts everywhere."""

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from snnbench.adapters.base.case import SIZES, Case

from ..mistakes import ConfigError
from .order import estimate_seconds


@dataclass(frozen=True)
class Shard:
    """Part `index` (from 1) of `count`."""

    index: int = 1
    count: int = 1

    def of(self, cases: list[Case]) -> list[Case]:
        """The cases of this part, in their order. Cases that differ in size only stay together: a small one that runs out of
        memory or time prunes the bigger ones, which another machine would not know of. The longest families are dealt out first,
        each to the part with least to do."""
        families: dict[Case, list[Case]] = defaultdict(list)
        for case in cases:
            smallest: dict[str, Any] = dict.fromkeys(SIZES, 1)
            families[replace(case, **smallest)].append(case)
        if self.count > len(families):
            together = "cases that differ in size only stay together"
            raise ConfigError(f"--shard {self}: {together}, so there are at most {len(families)} parts")
        load = [0.0] * self.count
        mine: set[Case] = set()
        for family in sorted(families.values(), key=_seconds, reverse=True):
            lightest = load.index(min(load))
            load[lightest] += _seconds(family)
            if lightest == self.index - 1:
                mine |= set(family)
        return [case for case in cases if case in mine]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def _seconds(family: list[Case]) -> float:
    """Of cases that cannot run here too: which these are differs between machines, and the parts must not."""
    return sum(estimate_seconds(case, 1, 1.0) for case in family)


def parse_shard(text: str) -> Shard:
    """`2/3`. Raises ConfigError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"--shard {text}: must look like 2/3, the second of three parts (1/3 to 3/3)")
    return Shard(int(match[1]), int(match[2]))
