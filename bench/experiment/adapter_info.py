"""What is known of an adapter before any of its cases runs."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class AdapterInfo:
    """An adapter as its worker describes it. The defaults are those of one whose file cannot be imported: its `error` says why.

    `neurons` has for each named neuron why the adapter refuses it, or None. `home` names the environment in which its
    workers run; `lacking` says why none can run.
    """

    reference: str
    name: str
    version: str | None = None
    missing: tuple[str, ...] = ()
    constructions: tuple[str, ...] = ("default",)
    modes: tuple[str, ...] = ("eager",)
    devices: tuple[str, ...] = ()
    neurons: dict[str, str | None] = field(default_factory=dict)
    source_sha256: str | None = None
    error: str | None = None
    home: str = "default"
    lacking: str | None = None

    @classmethod
    def from_answer(cls, answer: dict[str, Any], name: str, home: str = "default") -> "AdapterInfo":
        """From a worker's entry for one adapter; `name` is for an adapter that could not tell its own."""
        if "error" in answer:
            return cls(answer["reference"], name, error=answer["error"], home=home)
        where = "" if home == "default" else f" in environment {home}"
        missing = tuple(answer["missing"])
        return cls(
            reference=answer["reference"],
            name=answer["name"],
            version=answer["version"],
            missing=missing,
            constructions=tuple(answer["constructions"]),
            modes=tuple(answer["modes"]),
            devices=tuple(answer["devices"]),
            neurons=answer["neurons"],
            source_sha256=answer["source_sha256"],
            home=home,
            lacking=f"{', '.join(missing)} is not installed{where}" if missing else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `error` only where there is one."""
        values = asdict(self)
        values["environment"] = values.pop("home")
        if self.error is None:
            del values["error"]
        return values
