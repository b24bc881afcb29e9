"""The named networks: each a function from a case to a network, in a file of its own, listed here."""

from .lif import lif
from .linear_lif import linear_lif
from .workload import Workload

WORKLOADS: dict[str, Workload] = {each.name: each for each in (linear_lif, lif)}
"""Every workload by its name."""

__all__ = ["WORKLOADS", "Workload"]
