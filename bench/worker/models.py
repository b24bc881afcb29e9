"""What is common to examinations of users' models: loading them, inputs, how they end, answers."""

import json
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snnbench.adapters.base import jax_model, torch_model
from snnbench.adapters.base.jax_model import JaxModel
from snnbench.adapters.base.torch_model import Seen, TorchModel, Training

from ..core.status import in_words, memory_status
from .sandbox import harness_writing

INPUT_RATE = 0.2
"""Share of ones in the random input."""
NO_MEMORY = "runs out of memory"
SAME = 1e-5
"""Largest difference, relative to the largest value, of outputs that are called equal."""
WRONG, COSTLY, TO_KNOW = "wrong", "costly", "to know"
OWN = Path(__file__).parents[1], Path(torch_model.__file__).parent
"""Folders of the code that looks at models."""
Emit = Callable[[dict[str, Any]], None]


@dataclass
class Finding:
    """`sentence` says what was seen and what to do."""

    severity: str
    module: str
    sentence: str


class Unfit(Exception):
    """The model cannot be examined; the text is the reason in one sentence."""


@contextmanager
def reporting(emit: Emit) -> Iterator[None]:
    """Drops what a model prints, and emits how its examination ended."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        try:
            yield
            emit({"part": "build", "status": "ok"})
        except Unfit as error:
            status = "oom_host" if NO_MEMORY in str(error) else "build_error"
            emit({"part": "build", "status": status, "reason": str(error)})


def load(file: str, name: str, by: Callable[[str, str], Any] = torch_model.load) -> Any:
    """Returns the module `name` of a file, or a function. Raises Unfit."""
    try:
        return by(file, name)
    except torch_model.NoModel as error:
        raise Unfit(f"the file {error}") from None
    except Exception as error:
        raise Unfit(raised("the file", error, file)) from None


def load_model(job: dict[str, Any]) -> TorchModel:
    """Returns the model that a job names. Raises Unfit."""
    file, axes = job["file"], job["axes"]

    def model(file: str, name: str) -> TorchModel:
        value = torch_model.made(file, name)
        found = jax_model.model_of(value, axes)
        return found or TorchModel(torch_model.as_module(value, name), axes)

    loaded: TorchModel = load(file, job["name"], model)
    if isinstance(loaded, JaxModel) and (job["step"] or job["classes"]):
        raise Unfit("--step and --classes need a torch.nn.Module")
    loaded.training = training(job)
    return loaded


def training(job: dict[str, Any]) -> Training:
    """Returns how a job trains its model. Raises Unfit."""
    step = job["step"]
    function = load(step["file"], step["name"], torch_model.load_function) if step else None
    return Training(job["classes"], job["loss"], function)


def inputs_of(job: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the input (T, B, *features) of a job, from a file or random, and another one."""
    if not job["input"]:
        return inputs(job["shape"])
    x = np.load(job["input"], allow_pickle=False).astype(np.float32)
    x = x.swapaxes(0, 1) if job["axes"] == "btf" else x
    return x, changed(x)


def inputs(shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Returns two random inputs (T, B, *features) of zeros and ones."""
    random = np.random.default_rng(3)
    x, other = ((random.random(shape) < INPUT_RATE).astype(np.float32) for _ in range(2))
    return x, other


def changed(x: np.ndarray) -> np.ndarray:
    """Returns another input of the same values: backwards in time, items and features, or random
    ones for an input that reads so itself."""
    other = np.ascontiguousarray(np.flip(x))
    return other if (other != x).any() else inputs(x.shape)[1] * x.max()


def spikes_of(
    model: TorchModel, neurons: Sequence[Seen], x: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the spikes (T, B, N) of neurons in an inference from the state as it is, and its
    outputs."""
    steps, batch = x.shape[:2]
    with model.watched(steps, batch) as seen:
        outputs = model.inference(x)
    spiking = [seen[one.name] for one in neurons if seen[one.name].spikes]
    return [torch_model.over_time(one, steps, batch) for one in spiking], outputs


def alike(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return len(first) == len(second) and all(
        a.shape == b.shape
        and np.allclose(
            a, b, rtol=SAME, atol=SAME * float(np.abs(a).max(initial=0)), equal_nan=True
        )
        for a, b in zip(first, second, strict=True)
    )


def verb_of(subjects: Sequence[str], singular: str, plural: str) -> str:
    return singular if len(subjects) == 1 else plural


def write_answer(path: Path, answer: Any) -> None:
    """Writes a dataclass as JSON; a process that dies leaves the answer before it, and one that a
    model has forked disturbs none."""
    with harness_writing():
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(answer)))
        unfinished.replace(path)


def is_own(error: BaseException) -> bool:
    """Tells if code of this project raises an error, not a module that it calls."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.name == "_call_impl":
            return False
        if is_own_file(frame.filename):
            return True
    return False


def is_own_file(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in OWN)


def raised(what: str, error: BaseException, file: str) -> str:
    """Returns what raises an error, with the last line of `file` that it came through."""
    words = in_words(error)
    happens = NO_MEMORY if memory_status(words) else f"raises {words}"
    return f"{what} {happens}{torch_model.line_of(error, file)}"
