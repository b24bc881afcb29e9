"""Whether a network learns: a curve of the loss over real training steps, and the share of new samples that it is right about."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from ..core.contract import Program
from ..core.result import Array, held

Batch = Callable[[int], tuple[Array, Array]]
STEPS = 40
NEW = 4
"""Batches behind those of the steps, of which the share is counted."""
LONGEST = 60.0
"""Seconds: who needs more has learned for fewer steps, and says how many."""


def learned(
    program: Program, batch: Batch, clock: Callable[[], float] = monotonic
) -> dict[str, Any]:
    """The loss of every step from the case's parameters on, and the share of new samples whose class has the largest sum of
    outputs over time. `batch(number)` are input and labels of a batch, the same for every framework."""
    result = program.forward(program.put_input(batch(0)[0]))
    program.release()
    program.roll_parameters(0)
    began, losses = clock(), list[float]()
    while len(losses) < STEPS and clock() < began + LONGEST:
        x, labels = batch(len(losses))
        result = program.step(program.put_input(x), program.put_upstream(labels, result))
        program.wait(result)
        losses.append(float(held(result, "loss")))
    right = total = 0
    for number in range(STEPS, STEPS + NEW):
        x, labels = batch(number)
        result = program.inference(program.put_input(x))
        program.wait(result)
        right += int((program.output(result).sum(axis=0).argmax(axis=-1) == labels).sum())
        total += len(labels)
    program.release()
    program.roll_parameters(0)
    return {"loss": losses, "accuracy": right / total}
