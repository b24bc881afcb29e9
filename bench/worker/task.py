"""What a worker is given, as JSON: written by the harness, read by the worker."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snnbench.adapters.base.case import PHASES, Case


@dataclass(frozen=True)
class Task:
    """One case in one round, to prove and to measure. `reference` names its adapter.

    `threads` are the cores to use (0: all), `budget_s` the seconds of timing of all `phases` together, `rel_ci` the relative
    width of a confidence interval at which sampling stops; `timed` is false for a case that is only proved and weighed.
    `own_run` and `proved_run` are files with the oracle's free run, of the case and of the size at which it is proved. A task
    that is only to prove needs neither.
    """

    case: Case
    reference: str
    round: int = 0
    threads: int = 0
    phases: tuple[str, ...] = PHASES
    budget_s: float = 60.0
    rel_ci: float = 0.01
    timed: bool = True
    own_run: Path = Path()
    proved_run: Path = Path()

    def as_dict(self) -> dict[str, Any]:
        """The JSON of the worker's job."""
        paths = {"own_run": str(self.own_run), "proved_run": str(self.proved_run)}
        return {**asdict(self), **paths, "case": self.case.as_dict()}

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Task":
        """The task of a job, which may hold more. Raises KeyError for one without a case or a reference."""
        return cls(
            case=Case.from_dict(job["case"]),
            reference=job["reference"],
            round=job["round"],
            threads=job["threads"],
            phases=tuple(name for name in PHASES if name in job["phases"]),
            budget_s=job["budget_s"],
            rel_ci=job["rel_ci"],
            timed=job["timed"],
            own_run=Path(job["own_run"]),
            proved_run=Path(job["proved_run"]),
        )


@dataclass(frozen=True)
class Inquiry:
    """What a worker is asked about its environment: the environment itself, adapters, and which cases they refuse.

    `environment` is the name that the answer gives it; `references` name adapters. Of each adapter the variants that
    `frameworks` name (`norse:compile`; `all` is any adapter; None: every construction in every mode) are asked about each of
    `points`, which are cases but for framework, construction and mode.
    """

    references: tuple[str, ...] = ()
    environment: str = "default"
    frameworks: tuple[str, ...] | None = ()
    points: tuple[Case, ...] = ()

    def is_about(self, name: str) -> bool:
        """Whether `frameworks` names a variant of the adapter `name`."""
        return self.frameworks is None or any(text.partition(":")[0] in (name, "all") for text in self.frameworks)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of the worker's job."""
        return {**asdict(self), "points": [point.as_dict() for point in self.points]}

    @classmethod
    def from_dict(cls, job: dict[str, Any]) -> "Inquiry":
        """The inquiry of a job, which may hold more."""
        frameworks = job["frameworks"]
        return cls(
            references=tuple(job["references"]),
            environment=job["environment"],
            frameworks=None if frameworks is None else tuple(frameworks),
            points=tuple(Case.from_dict(values) for values in job["points"]),
        )
