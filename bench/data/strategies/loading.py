"""The base of adapters that load data. Strategies are imported when one is made: describing an
adapter needs no framework."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ...core.case import DATA, Case
from ...core.contract import Adapter, Unsupported
from ...core.network import Network

if TYPE_CHECKING:
    from .base import Strategy


class Loading(Adapter):
    """An adapter with strategies as constructions."""

    loads_data = True

    def refuses(self, case: Case, network: Network) -> str | None:
        """Returns the reason why a case cannot be measured, or None."""
        if not case.delivers_data:
            return f"{self.name} loads data (workload {DATA}); it computes no networks"
        if missing := self.refuses_variant(case):
            return missing
        if (case.loaders or case.pinned) and not self.has_trait("loader", case):
            return (
                f"{case.construction} keeps the frames on the device: it has no use for loaders "
                "and pinned memory"
            )
        if case.pinned and case.device == "cpu":
            return "pinned memory is for copies to a GPU"
        if case.batch > case.samples:
            return f"an epoch of {case.samples} samples has no batch of {case.batch}"
        return self.supports(case)

    @abstractmethod
    def strategy(self, case: Case, folder: Path, cache: Path) -> Strategy:
        """Returns the strategy that a case names, with the recordings below `folder` and the case's
        own `cache`."""

    def prepare(self, case: Case, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)

    def program(self, case: Case, network: Network) -> NoReturn:
        raise Unsupported(f"{self.name} loads data; it computes no networks")
