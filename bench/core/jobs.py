"""Jobs of workers: the harness writes them as JSON, and the worker reads them."""

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .case import PHASES, Case
from .variant import ALL, VariantPattern, parse_variants

PATHS = ("free_run", "recordings", "cache")


@dataclass(frozen=True)
class Task:
    """One case in one block, to prove and to measure. `reference` names its adapter.

    `threads` counts the cores to use (0: all); `timed` is false for a case that is only proved and
    weighed. `version` is `NAME@VERSION` for a version of a framework: what it lacks is no failure.
    `timeout` bounds all that the case computes, in seconds. `free_run` is the file with the
    oracle's free run of the case, which measuring needs. A case that delivers data has instead the
    folders `recordings` and `cache`, which outlives its worker; `behind` names the adapter of the
    network behind it."""

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
    behind: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns the JSON of the worker's job."""
        return {
            **asdict(self),
            **{name: str(getattr(self, name)) for name in PATHS},
            "case": self.case.as_dict(),
        }

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Task":
        """Returns the task of a job, which may hold more keys. Raises KeyError for one without a
        case or a reference."""
        values = {field.name: job[field.name] for field in fields(cls)}
        values["case"] = Case.from_dict(job["case"])
        values["phases"] = tuple(name for name in PHASES if name in job["phases"])
        return cls(**values | {name: Path(job[name]) for name in PATHS})


@dataclass(frozen=True)
class Inquiry:
    """Asks a worker about its environment, which the answer calls `environment`, about the adapters
    that `references` name, and about the cases that these refuse.

    The cases are `points`, which have no variant, in every variant of `frameworks` (`all` is any
    adapter; None: every construction in every mode).
    """

    references: tuple[str, ...] = ()
    environment: str = "default"
    frameworks: tuple[VariantPattern, ...] | None = ()
    points: tuple[Case, ...] = ()

    def is_about(self, name: str) -> bool:
        """Returns true if `frameworks` has a variant or a version of the adapter `name`."""
        return self.frameworks is None or any(
            each.framework in (name, ALL) for each in self.frameworks
        )

    def about_version(self, framework: str, version: str) -> "Inquiry":
        """Returns the inquiry for the environment of one version, in which it has no other name
        than its framework."""
        patterns = (
            replace(each, version=None)
            for each in self.frameworks or ()
            if (each.framework, each.version) == (framework, version)
        )
        return replace(self, frameworks=tuple(patterns) or None)

    def as_dict(self) -> dict[str, Any]:
        """Returns the JSON of the worker's job."""
        return {
            "references": self.references,
            "environment": self.environment,
            "frameworks": None if self.frameworks is None else [*map(str, self.frameworks)],
            "points": [point.as_dict() for point in self.points],
        }

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Inquiry":
        """Returns the inquiry of a job, which may hold more keys."""
        frameworks = None if job["frameworks"] is None else tuple(parse_variants(job["frameworks"]))
        points = tuple(Case.from_dict(values) for values in job["points"])
        return cls(tuple(job["references"]), job["environment"], frameworks, points)
