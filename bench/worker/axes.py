"""Outputs that depend on other items of the batch, on later inputs, or on no late input: axes that
forward takes for others."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from snnbench.adapters.base import torch_model
from snnbench.adapters.base.torch_model import Seen, TorchModel

from ..core.case import NATIVE
from ..core.network import INPUT, Network, Node
from ..proof.problem import Problem
from ..proof.time_axis import time_axis
from .models import TO_KNOW, WRONG, Finding, alike, spikes_of

LOUD = 16
"""Times the largest input that a layer must react to which is silent on others."""
ITEMS, LATER = "other items of the batch", "later inputs"
DEPENDS = {"batch items": ITEMS, "looks ahead": LATER}
"""What spikes depend on, by the beginning of a finding of `time_axis`."""

QUIET = ("does not react", "has no memory")
"""Beginnings of findings of `time_axis` that leave open what the spikes depend on."""


class Axes:
    """Looks at a module on the input `x` (T, B, *features) and changed to `other`. After
    `findings`, `is_misread` tells if another layout is right."""

    def __init__(self, model: TorchModel, x: np.ndarray, other: np.ndarray, neurons: list[Seen]):
        self.model, self.x, self.other, self.neurons = model, x, other, neurons
        self.shape, self.is_misread = x.shape, False

    def findings(self) -> Iterator[Finding]:
        """Yields outputs that depend on other items of the batch or on the future."""
        self.model.module.eval()
        problem = self._problem()
        steps, batch = self.shape[:2]
        spikes = {one.name: torch_model.over_time(one, steps, batch) for one in self.neurons}
        if read := self._steps_read():
            ends = any(len(each) < steps for each in spikes.values())
            finding = self._unread(read, ends)
            yield finding
            if finding.severity == WRONG:  # the probes below would say the same in other words
                self.model.module.train()
                return
        firing = [
            one for one in self.neurons if spikes[one.name].any() and len(spikes[one.name]) == steps
        ]
        said = ""
        for one in reversed(firing if steps > 1 else []):
            verdict = time_axis(_Forward(self.model, one), problem)  # type: ignore[arg-type]
            for text in verdict.findings:
                on = next((on for start, on in DEPENDS.items() if text.startswith(start)), "")
                if on:
                    said += on
                    yield Finding(WRONG, one.name, self._axis_words("spikes", on))
            if said or not any(text.startswith(QUIET) for text in verdict.findings):
                break  # else layers before it react more
        yield from self._outputs_of_items(said)
        self.model.module.train()

    def _steps_read(self) -> int | None:
        """Returns the number of time steps after which no input changes spikes or outputs; None if
        late ones do, or early ones do not."""
        steps, (spikes, y) = self.shape[0], self._activity(self.x)

        def is_read(part: slice) -> bool:
            largest = np.abs(self.x).max()
            for value in (self.x.min(), self.x.max(), LOUD * largest, -LOUD * largest):
                x = self.x.copy()
                x[part] = value
                try:
                    others, changed = self._activity(x)
                except Exception:  # it is read: such a value has no embedding, for example
                    return True
                if not alike([*spikes, *y], [*others, *changed]):
                    return True
            return False

        low, high = 0, steps - steps // 4
        known = steps < 4 or self.model.axes == "bf"
        if known or is_read(slice(high, None)) or not is_read(slice(high)):
            return None
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if is_read(slice(middle, None)) else (low, middle)
        return high

    def _unread(self, read: int, ends: bool) -> Finding:
        """Returns that the model reads only the first steps: a fault if its neurons end there
        (`ends`) or it counts the items of the batch, and no fault if it masks later steps."""
        steps, batch = self.shape[:2]
        if read == batch:
            severity, todo = WRONG, "does it count the items of the batch, which are as many?"
        elif ends:
            severity, todo = WRONG, "does its loop have a number of steps of its own?"
        else:
            severity, todo = TO_KNOW, "right only if it is meant to mask them"
        return Finding(
            severity,
            "the model",
            f"reads {read} of {steps} time steps: later inputs change neither spikes nor outputs; "
            f"{todo}",
        )

    def _problem(self) -> Problem:
        node = Node("spikes", "neuron", (INPUT,), {"neuron": NATIVE})
        upstream = np.zeros(self.shape, np.float32)
        return Problem(Network(self.shape[2:], (node,)), {}, self.x, self.other, upstream)

    def _outputs_of_items(self, said: str) -> Iterator[Finding]:
        steps, batch = self.shape[:2]
        half = steps // 2
        later, items = self.x.copy(), self.x.copy()
        later[half:] = self.other[half:]
        items[:, 0] = self.other[:, 0]
        y, y_later, y_items = (self.model.first_inference(x) for x in (self.x, later, items))
        for place, (one, changed_late, changed_item) in enumerate(
            zip(y, y_later, y_items, strict=True)
        ):
            axis = _batch_axis(one.shape, steps, batch, self.model.axes)
            if axis is None:
                continue
            others = [np.moveaxis(a, axis, 0)[1:] for a in (one, changed_item)]
            mixed = batch > 1 and (
                not alike([others[0]], [others[1]])
                or bool(self._gradient(place, axis, slice(1, None))[:, 0].any())
            )
            if mixed and ITEMS not in said:
                said += ITEMS
                yield Finding(WRONG, "the model", self._axis_words("outputs", ITEMS))
            if axis == 1 or self.model.axes == "btf":
                time = 1 - axis
                if one.ndim < 2 or one.shape[time] != steps or LATER in said:
                    continue
                early = [np.moveaxis(a, time, 0)[:half] for a in (one, changed_late)]
                ahead = self._gradient(place, time, slice(half))[half:].any()
                if ahead or not alike([early[0]], [early[1]]):
                    said += LATER
                    yield Finding(WRONG, "the model", self._axis_words("outputs", LATER))

    def _gradient(self, place: int, axis: int, part: slice) -> np.ndarray:
        """Returns the finite gradient by the input of a part of an output; zeros without one. It
        shows influences that are too small to change a decision."""
        self.model.restore()
        gradient = None
        with suppress(Exception):
            gradient = self.model.gradient_of(self.x, place, axis, part)
        zeros = np.zeros_like(self.x)
        return zeros if gradient is None else np.nan_to_num(gradient, posinf=0.0, neginf=0.0)

    def _better_axes(self) -> str | None:
        """Returns the layout in which items do not influence each other; None if there is none."""
        axes = self.model.axes
        if axes == "bf" or self.shape[1] < 2:
            return None
        self.model.axes = "btf" if axes == "tbf" else "tbf"
        items = self.x.copy()
        items[:, 0] = self.other[:, 0]
        try:
            (spikes, y), (others, changed) = self._activity(self.x), self._activity(items)
        except Exception:  # it takes this layout alone
            return None
        finally:
            other, self.model.axes = self.model.axes, axes
        steps, batch = self.shape[:2]
        if not alike([one[:, 1:] for one in spikes], [one[:, 1:] for one in others]):
            return None
        for one, two in zip(y, changed, strict=True):
            axis = _batch_axis(one.shape, steps, batch, other)
            if axis is None or not alike(
                [np.moveaxis(one, axis, 0)[1:]], [np.moveaxis(two, axis, 0)[1:]]
            ):
                return None
        return other

    def _axis_words(self, what: str, on: str) -> str:
        """Returns the sentence on a wrong axis, with the layout that would be right."""
        text = f"gives {what} that depend on {on}"
        if better := self._better_axes():
            self.is_misread = True
            place = "first" if better == "tbf" else "second"
            return (
                f"{text}: forward takes time as its {place} axis, which --axes {self.model.axes} "
                f"calls the batch; examine it with --axes {better}, for an input "
                f"{torch_model.AXES[better]}"
            )
        if on == ITEMS:
            return f"{text}; does it scan, average or normalise over the batch axis?"
        return f"{text}; does it normalise over time, or scan another axis?"

    def _activity(self, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Returns the spikes of all neurons in an inference, and its outputs."""
        self.model.restore()
        return spikes_of(self.model, self.neurons, x)


class _Forward:
    """The part of a `Program` that `time_axis` uses: inferences that hand out a layer's spikes."""

    def __init__(self, model: TorchModel, layer: Seen):
        self.model, self.layer = model, layer.name

    def prepare_inference(self, statistics: Any) -> None: ...

    def put_input(self, x: np.ndarray) -> np.ndarray:
        return x

    def input_after(self, x: np.ndarray) -> np.ndarray:
        return x

    def inference(self, x: np.ndarray) -> np.ndarray:
        steps, batch = x.shape[:2]
        with self.model.watched(steps, batch) as seen:
            self.model.first_inference(x)
        return torch_model.over_time(seen[self.layer], steps, batch)

    def wait(self, result: Any) -> None: ...

    def spikes(self, result: np.ndarray) -> dict[str, np.ndarray]:
        return {"spikes": result}


def _batch_axis(shape: tuple[int, ...], steps: int, batch: int, axes: str) -> int | None:
    """Returns the batch's axis in an output, or None."""
    first = (1, 0) if axes != "btf" else (0, 1)
    if len(shape) > 1 and {shape[0], shape[1]} == {steps, batch}:
        return first[0] if shape[first[0]] == batch else first[1]
    return 0 if shape[:1] == (batch,) else None
