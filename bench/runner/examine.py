"""`snnbench examine`: a user's model, examined in a process of its own with the limits of an
adapter's."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ..executors.launch import Surroundings, launch, scratch_apart
from ..executors.variables import worker_environment
from ..schema import Finite, Share, Text, read_as
from .outcome import verdict

Severity = Literal["wrong", "costly", "to know"]
SEVERITIES: tuple[Severity, ...] = ("wrong", "costly", "to know")
"""From worst to least."""


class ExaminedNeuron(TypedDict):
    """A spiking module: its class, its equation in words, and how it fired on the random input.
    `silent` is the share of its neurons that never did."""

    module: Text
    kind: Text
    verdict: Literal["proved", "nearest", "none", "unproved"]
    equation: Text
    differs: Text
    learned: list[Text]
    rate: Finite
    silent: Share


class Finding(TypedDict):
    severity: Severity
    module: Text
    sentence: Text


class Answer(TypedDict):
    """The file that the worker writes; see `worker/examine.py`."""

    neurons: list[ExaminedNeuron]
    findings: list[Finding]


@dataclass
class Examined:
    """The end of an examination. If `status` is not ok, `reason` says why it ended early, and
    `neurons` and `findings` are those until then."""

    model: str
    status: str
    reason: str | None
    neurons: list[ExaminedNeuron] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        return any(finding["severity"] == "wrong" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def examine_model(
    file: Path, name: str, shape: tuple[int, ...], axes: str, timeout: float
) -> Examined:
    """Examines the model `name` of a Python file on inputs (T, B, *features), which it takes in
    the layout `axes`, within `timeout` seconds."""
    with scratch_apart() as scratch:
        path = scratch / "examined.json"
        job = {"file": str(file.resolve()), "name": name, "shape": shape, "axes": axes}
        surroundings = Surroundings(
            scratch, timeout, variables=worker_environment("cpu", 0), shared=[scratch]
        )
        ended = verdict(launch("examine", {**job, "examined": str(path)}, surroundings), "cpu")
        examined = Examined(f"{file}:{name}", ended["status"], ended["reason"])
        if path.is_file():
            try:
                answer = read_as(TypeAdapter(Answer), path)
            except ValueError as error:
                examined.status, examined.reason = "error", f"its worker wrote no answer: {error}"
                return examined
            examined.neurons, examined.findings = answer["neurons"], answer["findings"]
            examined.findings.sort(key=lambda finding: SEVERITIES.index(finding["severity"]))
    return examined
