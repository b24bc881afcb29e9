"""What a framework's neuron or surrogate is in the equations of `snnbench.kernels.spec`."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from snnbench.kernels.spec import NeuronSpec

T = TypeVar("T")

MANY = 1 << 16
"""Most spikes of a step where a framework has no limit, or this one."""


@dataclass(frozen=True)
class Surrogate:
    """A framework's surrogate: `height` times ours of this `name` and `slope`. `text` is its call
    in the framework, with all arguments."""

    name: str
    slope: float = 1.0
    height: float = 1.0
    text: str = ""


def surrogate(function: Callable[..., Surrogate]) -> Callable[..., Surrogate]:
    """Decorates the function of a surrogate; its results get their text."""

    @functools.wraps(function)
    def written(**arguments: float) -> Surrogate:
        bound = inspect.signature(function).bind(**arguments)
        bound.apply_defaults()
        words = ", ".join(f"{name}={value:g}" for name, value in bound.arguments.items())
        return replace(function(**bound.arguments), text=f"{function.__name__}({words})")

    return written


@dataclass(frozen=True)
class Meaning:
    """A framework's neuron as an equation. `gain` is its factor on inputs, which weights here take
    instead; `differences` are sentences on what else differs from the equation."""

    spec: NeuronSpec
    surrogate: Surrogate
    gain: float = 1.0
    differences: tuple[str, ...] = field(default=())

    def words(self) -> str:
        """Returns the equation in a line: `soft-undecayed, detached, decay 0.95, atan(alpha=2)`."""
        spec = self.spec
        parts = [spec.reset, *["detached" if spec.detach_reset else "attached"]]
        parts = parts if spec.reset != "none" else ["no reset"]
        parts.append(f"decay {spec.decay:g}" + " (learned)" * (spec.learned_decay is not None))
        if spec.current_decay is not None:
            parts.append(f"synapse {spec.current_decay:g}")
        if spec.adaptation is not None:
            parts.append(f"adaptation {spec.adaptation:g}, {spec.adaptation_decay:g}")
        if spec.threshold != 1:
            parts.append(f"threshold {spec.threshold:g}")
        if spec.max_spikes > 1:
            most = "many" if spec.max_spikes == MANY else f"up to {spec.max_spikes}"
            parts.append(f"{most} spikes a step")
        parts.append(self.surrogate.text)
        more = [f"its factor {self.gain:g} on inputs is left to the weights"] * (self.gain != 1)
        if self.surrogate.height != 1:
            more.append(
                f"its surrogate is {self.surrogate.height:g} times {spec.surrogate} of slope "
                f"{spec.slope:g}, which is measured"
            )
        return "; ".join([", ".join(parts), *more, *self.differences])


def meaning(
    surrogate: Surrogate,
    reset: str,
    *,
    decay: float,
    detached: bool = False,
    gain: float = 1.0,
    differences: tuple[str, ...] = (),
    threshold: float = 1.0,
    max_spikes: int = 1,
    **more: float | str | None,
) -> Meaning:
    """Returns the meaning of a neuron; `more` are further fields of its spec. A decay is rounded to
    eight digits, finer than float32. Raises ValueError for a value outside its domain."""
    rounded = {
        name: float(f"{value:.8g}") if isinstance(value, float) else value
        for name, value in {"decay": float(decay), **more}.items()
    }
    spec = NeuronSpec(
        reset,
        detach_reset=detached,
        threshold=float(threshold),
        surrogate=surrogate.name,
        slope=float(surrogate.slope),
        max_spikes=max_spikes,
        **rounded,  # type: ignore[arg-type]  # values of several types, checked by NeuronSpec
    )
    return Meaning(spec, surrogate, float(f"{gain:.8g}"), differences)


def chosen(argument: str, value: str, offered: Mapping[str, T]) -> T:
    """Returns what a text stands for. Raises ValueError for another text."""
    if value not in offered:
        raise ValueError(f"{argument} = {value!r} is not one of {', '.join(offered)}")
    return offered[value]


def names_of(*functions: Callable[..., object]) -> dict[str, Callable[..., object]]:
    """Returns functions by their names."""
    return {function.__name__: function for function in functions}
