"""What is known of an adapter before any of its cases runs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.case import DATA, Case


def without_folder(reference: str) -> str:
    """`mine.py:Mine` of `/folder/mine.py:Mine`; a module's as it is."""
    return reference.rpartition("/")[2]


@dataclass(frozen=True)
class AdapterInfo:
    """An adapter as its worker describes it. The defaults are those of one whose file cannot be imported: its `error` says why.
    `neurons` has for each named neuron why the adapter refuses it, or None; `closure` has the versions of what its framework
    rests on. `home` names the environment in which its workers run; `lacking` says why none can run, `refusal` why it, or this
    version of it, can compute nothing. The name of a version is `NAME@VERSION`."""

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
    home: str = "default"
    lacking: str | None = None
    refusal: str | None = None

    @classmethod
    def from_answer(cls, answer: dict[str, Any], name: str, home: str = "default") -> "AdapterInfo":
        """From a worker's entry for one adapter; `name` is for an adapter that could not tell its own."""
        entry = {
            key: value for key, value in answer.items() if key not in ("refusals", "no_adapter")
        }
        missing = ", ".join(answer.get("missing", ()))
        where = "" if home == "default" else f" in environment {home}"
        return cls(
            **{"name": name, **entry},
            home=home,
            lacking=f"{missing} is not installed{where}" if missing else None,
        )

    @property
    def can_run(self) -> bool:
        """Whether some case of it may run here: it is installed, and can compute something."""
        return not (self.lacking or self.refusal)

    def suits(self, case: Case) -> bool:
        """Whether it is of the kind that a case is for: one that loads data, or one that computes networks."""
        return self.loads_data == (case.workload == DATA)

    @property
    def recorded(self) -> dict[str, Any]:
        """What a record says of it: of a file its name and hash, not where it lies."""
        known = {name: getattr(self, name) for name in ("version", "source_sha256", "closure")}
        return (
            {"name": self.name.partition("@")[0]}
            | known
            | {"reference": without_folder(self.reference)}
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `error` and `refusal` only where there is one."""
        values = asdict(self)
        values["environment"] = values.pop("home")
        for name in ("error", "refusal"):
            if values[name] is None:
                del values[name]
        return values
