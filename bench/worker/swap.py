"""Puts fused neurons into a user's model: whether it stays the same, and what a training step then
takes."""

import gc
import time
from dataclasses import dataclass, field, replace

import numpy as np

from snnbench.adapters.base.torch_breakdown import work_of
from snnbench.adapters.base.torch_model import Seen, TorchModel
from snnbench.adapters.base.torch_swap import Fused, NoSwap, Swap, fused_neuron, swaps

from ..proof.equation import Equation
from .models import Unfit
from .same import OTHER_SIZES, Compared, Model, compare

ROUNDS, LEAST_ROUNDS, MOST_S = 7, 3, 20.0
"""Rounds in which both models take turns; the least of them, once they have taken so many
seconds."""
SLOT_S, LEAST_CALLS, LONG_S = 0.1, 3, 2.0
"""Seconds of a model's turn, of which the first call is not counted, and its least calls, unless
they take so many seconds."""


@dataclass
class Measured:
    """Seconds of a training step in the median round and the most bytes of its tensors, of the
    model as it was and as it is changed, and the ratio of their times in each round."""

    seconds: tuple[float, float]
    bytes: tuple[int, int]
    ratios: list[float]


@dataclass
class Swapped:
    """`modules` have fused replacements, `refused` are sentences on the others. `difference` is the
    first one of the changed model; if it is the same, there are `measured` and `code`."""

    modules: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    difference: str = ""
    measured: Measured | None = None
    code: str = ""


def swapped(
    model: TorchModel,
    seen: dict[str, Seen],
    neurons: list[Seen],
    equations: dict[str, Equation],
    x: np.ndarray,
) -> Swapped:
    """Replaces the neurons with equations that are proved, by name; runs and measures the change
    on x (T, B, *features)."""
    answer, fused = Swapped(), dict[str, Fused]()
    if all(one.framework == "snnbench" for one in neurons):
        return answer
    for one in neurons:
        try:
            fused[one.name] = _fused(one, equations[one.name])
        except NoSwap as error:
            answer.refused.append(f"{one.name} has no fused replacement: {error}")
    if not fused:
        return answer
    try:
        change, compared, most = _same_of(model, list(swaps(seen, neurons, fused, model.axes)), x)
    except NoSwap as error:
        answer.refused.append(_stays([*fused], str(error)))
        return answer
    answer.modules = [*change.modules]
    if left := [name for name in fused if name not in change.modules]:
        tried = f"with a fused one {most}" if most else "it takes one step a call, others take all"
        if most.startswith(("the output", "output")) and OTHER_SIZES not in most:
            tried = f"{tried}; does forward use its potentials? A fused one gives spikes alone"
        reason = change.others or tried
        answer.refused.append(_stays(left, reason))
    answer.difference = compared.difference
    if not answer.difference:
        answer.code = change.code
        model.restore()
        training = replace(model.training, step=None)  # it may hold the old parameters
        old = TorchModel(model.module, model.axes, training)
        new = TorchModel(change.applied(model.module)[0], change.axes, training)
        answer.measured = _measure(old, new, x)
    return answer


def _stays(names: list[str], reason: str) -> str:
    return f"{', '.join(names)} {'stays' if len(names) == 1 else 'stay'}: {reason}"


def _fused(seen: Seen, equation: Equation) -> Fused:
    if equation.verdict != "proved" or equation.spec is None:
        raise NoSwap("its equation is not proved")
    if equation.by_neuron:
        raise NoSwap("its constants differ by neuron")
    if seen.learned:
        raise NoSwap(f"it learns {', '.join(seen.learned)}")
    return fused_neuron(seen, equation.spec, equation.gain, equation.height, equation.late)


def _same_of(model: TorchModel, changes: list[Swap], x: np.ndarray) -> tuple[Swap, Compared, str]:
    """Returns the first change that keeps the model the same, else the first of which outputs have
    the right sizes, and the difference of that one."""
    tried: list[tuple[Swap, Compared]] = []
    for change in changes:
        model.restore()
        old, _ = Swap("def swap(net):\n    return net\n", model.axes).applied(model.module)
        new, pairs = change.applied(model.module)
        first, second = Model("the model", old, model.axes), Model("it", new, change.axes)
        try:
            compared = compare(first, second, x, pairs)
        except Unfit as error:
            compared = Compared(difference=str(error))
        tried.append((change, compared))
        if not compared.difference:
            break
    failed = [each for each in tried if each[1].difference]
    failed.sort(key=lambda each: OTHER_SIZES in each[1].difference)
    chosen = tried[-1] if len(failed) < len(tried) else failed[0]
    return (*chosen, failed[0][1].difference if failed else "")


def _measure(old: TorchModel, new: TorchModel, x: np.ndarray) -> Measured:
    """Times training steps of two models in turns, the new one first in every other round."""
    start, times = time.perf_counter(), list[list[float]]()
    while len(times) < ROUNDS and (
        len(times) < LEAST_ROUNDS or time.perf_counter() - start < MOST_S
    ):
        if len(times) % 2:
            before = _slot(old, x)
            times.append([before, _slot(new, x)])
        else:
            after = _slot(new, x)
            times.append([_slot(old, x), after])
    times.sort(key=lambda each: each[0] / each[1])
    before, after = times[len(times) // 2]
    ratios = [first / second for first, second in times]
    return Measured((before, after), (_peak_bytes(old, x), _peak_bytes(new, x)), ratios)


def _peak_bytes(model: TorchModel, x: np.ndarray) -> int:
    model.restore()
    return work_of(lambda: model.backward(x)).peak_bytes


def _slot(model: TorchModel, x: np.ndarray) -> float:
    """Returns the median seconds of training steps without an optimizer."""
    seconds: list[float] = []
    model.module.train()
    gc.collect()
    gc.disable()
    try:
        while sum(seconds) < (LONG_S if len(seconds) < LEAST_CALLS else SLOT_S):
            model.restore()
            start = time.perf_counter()
            model.backward(x)
            seconds.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return float(np.median(seconds[1:] or seconds))
