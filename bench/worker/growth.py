"""How work and memory of a training step grow with time steps, with batch, and step after step."""

from collections.abc import Callable, Iterator

import numpy as np

from snnbench.adapters.base.torch_breakdown import Work, left_after, work_of
from snnbench.adapters.base.torch_model import TorchModel

from ..common import units
from .models import COSTLY, Finding

STEEPER = 1.4
"""From this ratio on, of the work that a later time step adds to that of an earlier one, work grows
faster than T: it is 1 for work in proportion to T, 2 for T squared."""
STEPS = 4
"""Training steps in a row."""
LEAST_BYTES = 1024
"""Bytes from which on memory that is left after a step counts."""


def growth(model: TorchModel, x: np.ndarray, other: np.ndarray) -> tuple[str, list[Finding]]:
    """Returns what a training step costs, in words, and findings on how that grows; `x` and `other`
    are inputs (T, B, *features). Raises what the model raises."""
    steps = len(x)
    long = np.concatenate([x, other, x, other])
    half, whole, twice, longest = (
        _work(model, long[:number]) for number in (steps // 2, steps, 2 * steps, 4 * steps)
    )
    wide = _work(model, np.concatenate([x, other], axis=1))
    sizes = [each.peak_bytes / max(whole.peak_bytes, 1) for each in (twice, wide)]
    cost = (
        f"a training step makes {whole.calls / steps:.0f} calls of torch per time step; its "
        f"tensors take {units.size(whole.peak_bytes)} at most, {sizes[0]:.1f} times as much at "
        f"twice T, {sizes[1]:.1f} times at twice B"
    )

    def step() -> None:
        model.restore()
        model.backward(x)

    return cost, [*_squared([half, whole, twice, longest], steps), *left(step, "a training step")]


def _work(model: TorchModel, x: np.ndarray) -> Work:
    model.module.train()
    model.restore()
    return work_of(lambda: model.backward(x))


def _squared(works: list[Work], steps: int) -> Iterator[Finding]:
    """Yields work with steps that take more between T and 2 T than before, and between 2 T and 4 T
    yet more: a workspace that a larger size gets is no growth."""
    for what in ("calls", "allocated_bytes"):
        done = [getattr(each, what) for each in works]
        added = np.diff(done) / [steps - steps // 2, steps, 2 * steps]
        some, many = done[1:3]
        if steps > 3 and added[0] > 0 and (added[1:] >= STEEPER * added[:-1]).all():
            in_words = (
                "makes {} times the calls" if what == "calls" else "writes {} times the memory"
            )
            yield Finding(
                COSTLY,
                "a training step",
                f"{in_words.format(f'{many / some:.1f}')} at twice T: its work grows with T "
                "squared; does every step go over all steps before it, a tensor grow by torch.cat, "
                "or a loop read x[:, t]? its backward fills all of x, that of x.unbind(1) does not",
            )
            return


def left(step: Callable[[], None], name: str) -> Iterator[Finding]:
    """Yields that each of some steps leaves more in use than the one before."""
    sizes = left_after(step, STEPS)
    added = np.diff(sizes)
    if added[1:].min() >= LEAST_BYTES:
        yield Finding(
            COSTLY,
            name,
            f"leaves {units.size(float(added[-1]))} more in use than the step before: something "
            "keeps its tensors, such as a list of losses or of spikes with their graphs; keep "
            "numbers, or .detach()ed copies",
        )
