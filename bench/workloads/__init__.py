"""The named networks. Each is a function from a case to a network, in a file of its own, listed here."""

from . import lif, linear_lif
from .workload import WORKLOADS, Workload

__all__ = ["WORKLOADS", "Workload", "lif", "linear_lif"]
