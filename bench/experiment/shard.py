"""A part of a plan, for one of several machines: `2/3` is the second of three. The same plan has the same parts everywhere."""

import re
from dataclasses import dataclass

from ..common.mistakes import ConfigError
from ..common.units import counted
from ..core.case import Case
from .order import comparison_groups, estimate_seconds


@dataclass(frozen=True)
class Shard:
    """Part `index` (from 1) of `count`."""

    index: int = 1
    count: int = 1

    def of(self, cases: list[Case]) -> list[Case]:
        """The cases of this part, in their order. What is ranked together stays together: it is measured side by side. The
        longest comparison groups are dealt out first, each to the part with least to do."""
        families = comparison_groups(cases)
        if self.count > len(families):
            together = "cases that differ in framework only stay together"
            most = counted(len(families), "part")
            raise ConfigError(
                f"--shard {self}: {together}, so there {'are' if len(families) > 1 else 'is'} at most {most}"
            )
        load = [0.0] * self.count
        mine: set[Case] = set()
        for family in sorted(families, key=_seconds, reverse=True):
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
        raise ConfigError(
            f"--shard {text}: must look like 2/3, the second of three parts (1/3 to 3/3)"
        )
    return Shard(int(match[1]), int(match[2]))
