"""Shows that a network learns: the loss over real training steps, and the accuracy on new
samples."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from ..core.contract import Program
from ..core.result import Array, held

Batch = Callable[[int], tuple[Array, Array]]
STEPS = 40
NEW = 4
"""Batches after the training steps, used for the accuracy."""
LONGEST = 60.0
"""Seconds after which training ends with fewer steps; the record shows their number."""


def learned(
    program: Program, batch: Batch, clock: Callable[[], float] = monotonic
) -> dict[str, Any]:
    """Returns the loss of every step from the case's parameters on, and the accuracy on new
    samples: the class is the largest sum of outputs over time. `batch(number)` returns input and
    labels, the same for every framework."""
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
    program.prepare_inference(None)  # with the running statistics of the training
    for number in range(STEPS, STEPS + NEW):
        x, labels = batch(number)
        result = program.inference(program.put_input(x))
        program.wait(result)
        right += int((program.output(result).sum(axis=0).argmax(axis=-1) == labels).sum())
        total += len(labels)
    program.release()
    program.roll_parameters(0)
    return {"loss": losses, "accuracy": right / total}
