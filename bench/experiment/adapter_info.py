"""Describes an adapter before one of its cases runs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.case import Case
from ..core.variant import VariantPattern


def without_folder(reference: str) -> str:
    """Returns `mine.py:Mine` for `/folder/mine.py:Mine`, and the reference of a module as it is."""
    return reference.rpartition("/")[2]


@dataclass(frozen=True)
class AdapterInfo:
    """An adapter as its worker describes it.

    `neurons` has the reason why the adapter refuses each named neuron, or None; `closure` the
    versions of the packages below its framework. `environment` is that of its workers. The name of
    a version is `NAME@VERSION`.

    An adapter that does not run has one of three reasons. `error`: its file cannot be imported (the
    other fields have their defaults). `lacking`: no worker can run in its environment, such as for
    the modules that are `missing` there. `refusal`: the adapter, or this version, computes nothing.
    """

    reference: str
    name: str
    version: str | None = None
    missing: Sequence[str] = ()
    constructions: Sequence[str] = ("default",)
    modes: Sequence[str] = ("eager",)
    devices: Sequence[str] = ()
    loads_data: bool = False
    neurons: dict[str, str | None] = field(default_factory=dict)
    source_sha256: str | None = None
    closure: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    environment: str = "default"
    lacking: str | None = None
    refusal: str | None = None

    @classmethod
    def from_answer(
        cls, answer: dict[str, Any], name: str, environment: str = "default"
    ) -> "AdapterInfo":
        """Reads a worker's entry for one adapter; `name` is the default of its name."""
        entry = {
            key: value for key, value in answer.items() if key not in ("refusals", "no_adapter")
        }
        missing = ", ".join(answer.get("missing", ()))
        where = "" if environment == "default" else f" in environment {environment}"
        return cls(
            **{"name": name, **entry},
            environment=environment,
            lacking=f"{missing} is not installed{where}" if missing else None,
        )

    @property
    def pattern(self) -> VariantPattern:
        """Its default variant."""
        return VariantPattern.parse(self.name)

    @property
    def can_run(self) -> bool:
        """True if it is installed and can compute some case."""
        return not (self.lacking or self.refusal)

    def suits(self, case: Case) -> bool:
        """Returns true if both load data, or both compute networks."""
        return self.loads_data == case.delivers_data

    @property
    def recorded(self) -> dict[str, Any]:
        """Its description in a record: a file's name and hash, not its folder."""
        known = {name: getattr(self, name) for name in ("version", "source_sha256", "closure")}
        return (
            {"name": self.pattern.framework} | known | {"reference": without_folder(self.reference)}
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON values; `error` and `refusal` only if there is one."""
        absent = [name for name in ("error", "refusal") if getattr(self, name) is None]
        return {name: value for name, value in asdict(self).items() if name not in absent}
