"""A named network: a function from a case to its network, and the axes of a case that mean something for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.network import Network

Build = Callable[[Case], Network]


@dataclass(frozen=True)
class Workload:
    """`axes` are the fields of a case that the network depends on. `fixed` are fields that have one value in every case of it.
    `small` are the odd sizes at which every proof begins,"""

    name: str
    network: Build
    axes: tuple[str, ...]
    fixed: Mapping[str, Any]
    small: Mapping[str, int]

    def canonical(self, case: Case) -> Case:
        """`case` with the fields that this workload fixes, so that no case is measured twice under two names."""
        return replace(case, **self.fixed)


WORKLOADS: dict[str, Workload] = {}
"""Every workload by its name."""


def workload(
    name: str, axes: tuple[str, ...], small: Mapping[str, int], fixed: Mapping[str, Any] | None = None
) -> Callable[[Build], Build]:
    """Register a function from a case to its network as the workload `name`.

    @workload("linear-lif", axes=("layers", "neurons", "bias"), small={"neurons": 97})
    def linear_lif(case):
        return Network((case.neurons,), …)
    """

    def register(network: Build) -> Build:
        WORKLOADS[name] = Workload(name, network, axes, fixed or {}, small)
        return network

    return register
