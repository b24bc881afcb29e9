"""A case of the grid, with the adapter that runs it and the place where it runs."""

from dataclasses import dataclass

from snnbench.adapters.base.case import Case

from ..environments.inventory import Home
from ..experiment.adapter_info import AdapterInfo


@dataclass(frozen=True)
class PlannedCase:
    """A case, its adapter, and where its workers run; `status` and `reason` if it is known beforehand that it cannot run."""

    case: Case
    adapter: AdapterInfo
    home: Home
    status: str | None = None
    reason: str | None = None

    @property
    def id(self) -> str:
        return self.case.id
