"""tonic's strategies, each as its documentation or the known comparison has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...core.case import Case
from .loading import Loading

if TYPE_CHECKING:
    from .base import Strategy


class Tonic(Loading):
    name = "tonic"
    requires = ("torch", "h5py", "tonic")
    constructions = {
        "naive": {"loader"},
        "disk": {"loader"},
        "memory": {"loader"},
        "coo": set(),
    }

    def strategy(self, case: Case, folder: Path, cache: Path) -> Strategy:
        from .tonic_strategies import Coo, DiskCache, MemoryCache, Naive

        named: dict[str, type[Strategy]] = {
            "naive": Naive,
            "disk": DiskCache,
            "memory": MemoryCache,
            "coo": Coo,
        }
        return named[case.construction](case, folder, cache)
