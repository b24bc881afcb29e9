"""The named networks: each a function from a case to a network, in a file of its own, listed here."""

from snnbench.adapters.base.case import Case

from .lif import lif
from .linear_lif import linear_lif, one_layer
from .workload import Workload

WORKLOADS: dict[str, Workload] = {each.name: each for each in (linear_lif, lif)}
"""Every workload by its name."""


def workload_of(case: Case) -> Workload:
    return WORKLOADS[case.workload]


__all__ = ["WORKLOADS", "Workload", "one_layer", "workload_of"]
