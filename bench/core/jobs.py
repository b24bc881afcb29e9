"""The jobs of workers: written as JSON by the harness, read by the worker."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .case import PHASES, Case

PATHS = ("free_run", "recordings", "cache")


@dataclass(frozen=True)
class Task:
    """One case in one block, to prove and to measure. `reference` names its adapter.

    `threads` are the cores to use (0: all); `timed` is false for a case that is only proved and weighed. `version` is
    `NAME@VERSION` where a version of the framework was asked for: what that lacks is no failure. `timeout`: seconds that
    it has for all that it computes.
    `free_run` is the file with the oracle's free run of the case: a task that is only to prove needs none. A case that delivers
    data has `recordings` in its place, the folder that holds them, and `cache`, a folder of its own that outlives its worker.
    """

    case: Case
    reference: str
    block: int
    threads: int
    phases: tuple[str, ...]
    timed: bool
    free_run: Path = Path()
    recordings: Path = Path()
    cache: Path = Path()
    version: str | None = None
    timeout: float = 600.0

    def as_dict(self) -> dict[str, Any]:
        """The JSON of the worker's job."""
        return {
            **asdict(self),
            **{name: str(getattr(self, name)) for name in PATHS},
            "case": self.case.as_dict(),
        }

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Task":
        """The task of a job, which may hold more. Raises KeyError for one without a case or a reference."""
        values = {field.name: job[field.name] for field in fields(cls)}
        values["case"] = Case.from_dict(job["case"])
        values["phases"] = tuple(name for name in PHASES if name in job["phases"])
        return cls(**values | {name: Path(job[name]) for name in PATHS})


@dataclass(frozen=True)
class Inquiry:
    """Questions to a worker: about its environment, which the answer calls `environment`, about the adapters that `references`
    name, and which cases these refuse.

    The cases are `points`, which lack framework, construction and mode, in every variant that `frameworks` names
    (`norse:compile`; `all` is any adapter; None: every construction in every mode).
    """

    references: tuple[str, ...] = ()
    environment: str = "default"
    frameworks: tuple[str, ...] | None = ()
    points: tuple[Case, ...] = ()

    def is_about(self, name: str) -> bool:
        """Whether `frameworks` names a variant or a version of the adapter `name`."""
        named = (text.partition(":")[0].partition("@")[0] for text in self.frameworks or ())
        return self.frameworks is None or not {name, "all"}.isdisjoint(named)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of the worker's job."""
        return {**asdict(self), "points": [point.as_dict() for point in self.points]}

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Inquiry":
        """The inquiry of a job, which may hold more."""
        frameworks = None if job["frameworks"] is None else tuple(job["frameworks"])
        points = tuple(Case.from_dict(values) for values in job["points"])
        return cls(tuple(job["references"]), job["environment"], frameworks, points)
