"""`snnbench examine` and `snnbench same`: users' models in a process of their own with the limits
of an adapter's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints, TypeAdapter
from typing_extensions import TypedDict

from ..common import units
from ..common.mistakes import ConfigError, in_words
from ..executors.launch import Surroundings, launch, scratch_apart
from ..executors.variables import worker_environment
from ..schema import Bytes, Finite, Positive, Seconds, Share, Text, Time, read_as, valid_parts
from .outcome import verdict

Severity = Literal["wrong", "costly", "to know"]
SEVERITIES: tuple[Severity, ...] = ("wrong", "costly", "to know")
"""From worst to least."""


MOST_PARTS = 3
NO_NEURON = (
    "no spiking module was found: neurons that forward writes by hand are not seen; put each into "
    "a module of its own"
)


class ExaminedNeuron(TypedDict):
    """A spiking module: its class, its equation in words, and how it fired on the input. `silent`
    is the share of its neurons that never did. `rates` and `gradients` are spikes per neuron, and
    the norm of the gradient by all of them, in each time step."""

    module: Text
    kind: Text
    verdict: Literal["proved", "nearest", "none", "unproved"]
    equation: Text
    differs: Text
    learned: list[Text]
    rate: Finite
    rates: list[Finite]
    gradients: list[Finite]
    silent: Share


class Finding(TypedDict):
    severity: Severity
    module: Text
    sentence: Text


class Part(TypedDict):
    """What a module takes of a training step; see `adapters/base/torch_by_module.py`."""

    module: Text
    forward_s: Seconds
    backward_s: Seconds
    kept_bytes: Bytes


class Measured(TypedDict):
    seconds: tuple[Time, Time]
    bytes: tuple[Bytes, Bytes]
    ratios: Annotated[list[Positive], Field(min_length=1)]


class Swapped(TypedDict):
    """Fused neurons in place of `modules`; see `worker/swap.py`."""

    modules: list[Text]
    refused: list[Text]
    difference: Text
    measured: Measured | None
    code: Annotated[str, StringConstraints(max_length=1 << 20)]


class Answer(TypedDict):
    """The file that the worker writes; see `worker/examine.py`."""

    neurons: list[ExaminedNeuron]
    findings: list[Finding]
    cost: Text
    parts: list[Part]
    swap: Swapped | None


@dataclass
class Examined:
    """The end of an examination; true if nothing is wrong. If `status` is not ok, `reason` says
    why it ended early, and the other fields are what was seen until then."""

    model: str
    status: str
    reason: str | None
    neurons: list[ExaminedNeuron] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    cost: str = ""
    parts: list[Part] = field(default_factory=list)
    swap: Swapped | None = None

    def __post_init__(self) -> None:
        self.findings.sort(key=lambda finding: SEVERITIES.index(finding["severity"]))

    @property
    def is_wrong(self) -> bool:
        return any(finding["severity"] == "wrong" for finding in self.findings)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yields (severity, sentence) from worst to least, neurons first without a severity."""
        for neuron in self.neurons:
            yield "", neuron_in_words(neuron)
        for finding in self.findings:
            yield finding["severity"], f"{finding['module']} {finding['sentence']}"
        if self.status == "ok" and not self.neurons:
            yield "", NO_NEURON
        if self.status == "ok" and not self.findings:
            yield "", "no finding: nothing wrong, costly or to know was seen"
        yield from (("", line) for line in self.costs())
        if self.status != "ok":
            yield "", f"{self.model}: {self.status}: {self.reason}"

    def costs(self) -> Iterator[str]:
        """Yields where a training step goes, and what would help."""
        if self.cost:
            yield self.cost
        if self.parts:
            yield parts_in_words(self.parts)
        if self.swap:
            yield from swap_in_words(self.swap)

    def __bool__(self) -> bool:
        return self.status == "ok" and not self.is_wrong

    def __repr__(self) -> str:
        return "\n".join(" · ".join(filter(None, line)) for line in self.lines())

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def parts_in_words(parts: list[Part]) -> str:
    """Returns what takes most of a training step's time, and keeps most of its memory."""
    seconds = {one["module"]: one["forward_s"] + one["backward_s"] for one in parts}
    kept = {one["module"]: float(one["kept_bytes"]) for one in parts}
    text = f"time of a training step: {_largest(seconds)}"
    if any(kept.values()):
        size = units.size(sum(kept.values()))
        text = f"{text}; {size} kept for backward: {_largest(kept)}"
    return text


def _largest(amounts: dict[str, float]) -> str:
    """Returns the three largest shares in words."""
    total = max(sum(amounts.values()), 1e-300)
    most = sorted(amounts, key=lambda name: -amounts[name])[:MOST_PARTS]
    return ", ".join(f"{units.share(amounts[name] / total)} {name}" for name in most)


def swap_in_words(swap: Swapped) -> Iterator[str]:
    """Yields what fused neurons change, as far as it was measured."""
    yield from swap["refused"]
    if not swap["modules"]:
        return
    what = f"fused neurons for {', '.join(swap['modules'])}"
    measured = swap["measured"]
    if swap["difference"] or measured is None:
        yield f"{what} do not give the same model: {swap['difference']}"
        return
    low, high = min(measured["ratios"]), max(measured["ratios"])
    before, after = measured["seconds"]
    speed = "not clearly faster or slower"
    if low > 1:
        speed = f"{units.ratio_within(before / after, low, high)} times as fast"
    elif high < 1:
        low, high = 1 / high, 1 / low
        speed = f"{units.ratio_within(after / before, low, high)} times as slow"
    ends = [units.ratio_within(end, low, high) for end in (low, high)]
    rounds = f"{' to '.join(ends)} in {len(measured['ratios'])} rounds"
    times = " → ".join(map(units.seconds, measured["seconds"]))
    sizes = " → ".join(map(units.size, measured["bytes"]))
    share = measured["bytes"][1] / max(measured["bytes"][0], 1)
    yield (
        f"{what}: same spikes and gradients; a training step is {speed} ({rounds}: {times}), its "
        f"tensors take {share:.2f} times the memory ({sizes})"
    )


def neuron_in_words(neuron: ExaminedNeuron) -> str:
    """Returns a line on a neuron: `lif1: snnTorch's Leaky: …: proved`."""
    learned = f"; learned: {', '.join(neuron['learned'])}" if neuron["learned"] else ""
    verdict = {
        "proved": "proved",
        "nearest": f"the nearest equation; {neuron['differs']}",
        "none": neuron["differs"],
        "unproved": ", because ".join(
            filter(None, ["not held against the oracle", neuron["differs"]])
        ),
    }[neuron["verdict"]]
    words = [neuron["module"], neuron["kind"], neuron["equation"] + learned, verdict]
    return ": ".join(filter(None, words))


class Compared(TypedDict):
    """The file that the worker writes; see `worker/same.py`."""

    difference: Text
    extent: Text
    notes: list[Text]


@dataclass
class Same:
    """Whether two models compute the same; true if they do. If `status` is not ok, `reason` says
    why they could not be compared. `difference` is the first one, `extent` what was compared."""

    first: str
    second: str
    status: str
    reason: str | None
    difference: str = ""
    extent: str = ""
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.status == "ok" and not self.difference

    def __repr__(self) -> str:
        if self.status != "ok":
            return f"{self.status}: {self.reason}"
        verdict = f"they differ: {self.difference}" if self.difference else f"same: {self.extent}"
        return "\n".join([verdict, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        return {"same": bool(self), **vars(self)}


@dataclass(frozen=True)
class Look:
    """On what a model is looked at: random inputs of the sizes `shape` (T, B, *features), or the
    array of the file `input` in the layout `axes`. It is trained by the function `step`, a file and
    a name, or by a `loss` of `classes`. `quick` measures no fused neurons."""

    shape: tuple[int, ...] = ()
    axes: str = "tbf"
    input: Path | None = None
    classes: int | None = None
    loss: str = "cross-entropy"
    step: tuple[Path, str] | None = None
    quick: bool = False

    def as_job(self) -> dict[str, Any]:
        step = _named(*self.step) if self.step else None
        return {**vars(self), "step": step, "input": self.input and str(self.input.resolve())}


def _named(file: Path, name: str) -> dict[str, str]:
    return {"file": str(file.resolve()), "name": name}


def read_input(path: Path) -> np.ndarray:
    """Returns the array of a `.npy` file. Raises ConfigError."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError) as error:
        reason = in_words(error)
        raise ConfigError(f"{path}: must be an array as numpy.save writes it: {reason}") from None
    check_input(array, str(path))
    return array


def check_input(array: np.ndarray, name: str) -> None:
    """Raises ConfigError for an array that is no input."""
    if array.ndim < 3 or 0 in array.shape:
        sizes = " × ".join(map(str, array.shape))
        raise ConfigError(
            f"{name}: has the sizes {sizes}: must have time steps, batch and features"
        )
    if array.dtype.kind not in "biuf":
        raise ConfigError(f"{name}: is of type {array.dtype}: must hold numbers")
    if not np.isfinite(array).all():
        raise ConfigError(f"{name}: holds NaN or infinity: must hold finite numbers")


def examine_model(file: Path, name: str, look: Look, timeout: float) -> Examined:
    """Examines the model `name` of a Python file within `timeout` seconds."""
    job = {**look.as_job(), **_named(file, name)}
    status, reason, answer = _answer("examine", job, timeout, Answer)
    return Examined(f"{file}:{name}", status, reason, **answer)


def compare_models(models: Sequence[tuple[Path, str]], look: Look, timeout: float) -> Same:
    """Compares two models, each the name in a Python file, within `timeout` seconds."""
    job = {**look.as_job(), "models": [_named(*model) for model in models]}
    status, reason, answer = _answer("same", job, timeout, Compared)
    names = [f"{file}:{name}" for file, name in models]
    if status == "ok" and not answer:
        status, reason = "error", "its worker wrote no answer"
    return Same(names[0], names[1], status, reason, **answer)


def _answer(
    verb: str, job: dict[str, Any], timeout: float, kind: type
) -> tuple[str, str | None, dict[str, Any]]:
    """Launches a worker; returns its status, the reason, and what is valid of the last answer that
    it wrote."""
    with scratch_apart() as scratch:
        path = scratch / "answer.json"
        surroundings = Surroundings(
            scratch, timeout, variables=worker_environment("cpu", 0), shared=[scratch]
        )
        ended = verdict(launch(verb, {**job, "answer": str(path)}, surroundings), "cpu")
        if ended["status"] == "timeout":
            less = " or --quick" if verb == "examine" and not job["quick"] else ""
            ended["reason"] += f"; give it a longer --timeout{less}"
        if not path.is_file():
            return ended["status"], ended["reason"], {}
        try:
            answer: dict[str, Any] = read_as(TypeAdapter(kind), path)
        except ValueError as error:
            return "error", f"its worker wrote no valid answer: {error}", valid_parts(kind, path)
        return ended["status"], ended["reason"], answer
