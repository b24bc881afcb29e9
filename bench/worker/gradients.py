"""Parameters of which the gradient is missing, not finite or zero, and why, in sentences."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np

from snnbench.adapters.base.torch_by_module import reached
from snnbench.adapters.base.torch_model import Seen, TorchModel

from .models import COSTLY, TO_KNOW, WRONG, Finding, verb_of


def gradient_findings(
    model: TorchModel, x: np.ndarray, seen: dict[str, Seen], neurons: list[Seen]
) -> Iterator[Finding]:
    """Yields faults of the gradients that a backward on x (T, B, *features) has left; `seen` are
    the modules of a JAX model, none, or of one of torch."""
    cut, unused, zero, infinite = (list[str]() for _ in range(4))
    for name, gradient in model.gradients().items():
        owner = name.rpartition(".")[0]
        if gradient is None:
            (cut if owner in seen or not owner else unused).append(name)
        elif not np.isfinite(gradient).all():
            infinite.append(name)
        elif not gradient.any():
            zero.append(name)
    if cut:
        yield Finding(
            WRONG,
            ", ".join(cut),
            f"{verb_of(cut, 'gets', 'get')} no gradient although the module is called: "
            "a comparison as a spike, .detach(), .data, torch.no_grad() or stop_gradient "
            "behind it cuts the graph; use a surrogate",
        )
    if unused:
        sentence = f"{verb_of(unused, 'is', 'are')} never used in forward"
        yield Finding(TO_KNOW, ", ".join(unused), sentence)
    if infinite:
        sentence = f"{verb_of(infinite, 'has', 'have')} a gradient that holds NaN or infinity"
        yield Finding(WRONG, ", ".join(infinite), sentence)
    by_cause: dict[str, list[str]] = {}
    if zero:
        causes = _Causes(model, x, seen, neurons)
        for name in zero:
            by_cause.setdefault(causes.of(name.rpartition(".")[0]), []).append(name)
    for cause, names in by_cause.items():
        has = verb_of(names, "has", "have")
        if len(names) > 1:
            cause = cause.replace(": its input", ": their input").replace(
                " its output", " their output"
            )
        sentence = f"{has} a gradient of exactly zero on this input{cause}"
        yield Finding(COSTLY, ", ".join(names), sentence)


class _Causes:
    """Why gradients are zero: what the parameters' modules get, and what comes back to them."""

    def __init__(
        self, model: TorchModel, x: np.ndarray, seen: dict[str, Seen], neurons: list[Seen]
    ):
        self.seen = seen
        self.neurons = {one.name: one for one in neurons}
        self.reached: set[str] | None = None
        with suppress(Exception):  # marks do not suit a model that changes outputs in place
            self.reached = reached(model, x, seen) if seen else None

    def of(self, name: str) -> str:
        """Returns the cause in words, with its colon; nothing if it was not seen."""
        one = self.seen.get(name)
        if one is None:
            return ""
        if one.gets_zeros:
            silent = self._silent_before(one)
            because = f", because {silent} is silent" if silent else ""
            return f": its input is all zeros{because}"
        if self.reached is None or name in self.reached:
            return ""
        dead = self.seen.keys() - self.reached
        walls = [
            each
            for each in self.neurons
            if each in self.reached and name in self._before(each, set(), dead)
        ]
        if not walls:
            return ": no gradient comes back to its output"
        cause = f": no gradient passes {', '.join(walls)}"
        if not all(_is_silent(self.neurons[each]) for each in walls):
            return cause
        which = verb_of(walls, "which is silent", "which are silent")
        return f"{cause}, {which} beyond the reach of {verb_of(walls, 'its', 'their')} surrogate"

    def _silent_before(self, one: Seen) -> str:
        """Returns the silent neuron of which the zeros are that a module gets; nothing without
        one."""
        before = [self.neurons.get(name) for name in self._before(one.name, set())]
        return next((each.name for each in before if each and _is_silent(each)), "")

    def _before(self, end: str, passed: set[str], through: Iterable[str] = ()) -> list[str]:
        """Returns the modules that a module's input goes through, back to neurons that are not
        among `through`."""
        names = list[str]()
        for name in sorted(self.seen[end].sources - passed):
            passed.add(name)
            names.append(name)
            if name not in self.neurons or name in through:
                names += self._before(name, passed, through)
        return names


def _is_silent(one: Seen) -> bool:
    return not any(spikes.any() for spikes in one.spikes or [])
