"""A case of the grid with the adapter that runs it."""

import hashlib
import json
from dataclasses import dataclass

from snnbench.adapters.base.case import Case


@dataclass
class PlannedCase:
    """A case, who runs it, and the reason if it is known beforehand that nobody can."""

    case: Case
    adapter: dict
    status: str | None = None
    reason: str | None = None

    @property
    def id(self) -> str:
        return case_id(self.case)


def case_id(case: Case) -> str:
    """SHA-256 (16 hex digits) of the canonical JSON of the case: all of it, the neuron's numbers included."""
    return hashlib.sha256(json.dumps(case.as_dict(), sort_keys=True).encode()).hexdigest()[:16]
