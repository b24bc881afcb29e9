"""What neurons find as their state in a loop over time, in sentences."""

from collections.abc import Iterator
from operator import sub

from snnbench.adapters.base.torch_states import Arrivals

from ..common.units import counted
from .models import TO_KNOW, WRONG, Finding, verb_of

MOST_STEPS = 3
"""Steps that are named."""
LOST = {
    True: ("it is reset before every step", "they are reset before every step"),
    False: (
        "the state that it returns is not passed to its next call, or it is reset in every step",
        "the state that they return is not passed to their next call, or they are reset in every "
        "step",
    ),
}
"""Why a neuron, and several, have no memory, by whether they hold their state themselves."""


def state_findings(arrived: dict[str, Arrivals]) -> Iterator[Finding]:
    """Yields neurons, by name, that find their state detached, or lost."""
    if chunked := [name for name, one in arrived.items() if one.is_chunk and one.detached]:
        yield Finding(
            TO_KNOW,
            ", ".join(chunked),
            f"{verb_of(chunked, 'finds its', 'find their')} state detached between the calls of "
            "a training step: gradients reach back to the beginning of a call; right for truncated "
            "backpropagation through time",
        )
    arrived = {name: one for name, one in arrived.items() if not one.is_chunk}
    if detached := [name for name, one in arrived.items() if one.is_detached]:
        yield Finding(
            WRONG,
            ", ".join(detached),
            f"{verb_of(detached, 'finds its', 'find their')} state detached in every step of the "
            "loop over time: no gradient goes back through it to earlier steps; pass it on "
            "without .detach() or .data",
        )
    truncated: dict[tuple[int, ...], list[str]] = {}
    for name, one in arrived.items():
        if one.detached and not one.is_detached:
            truncated.setdefault((*one.detached, one.calls), []).append(name)
    for (*cuts, calls), names in truncated.items():
        steps = ", ".join(map(str, cuts[:MOST_STEPS])) + ", …" * (len(cuts) > MOST_STEPS)
        reach = max(map(sub, [*cuts, calls], [0, *cuts]))
        yield Finding(
            TO_KNOW,
            ", ".join(names),
            f"{verb_of(names, 'finds its', 'find their')} state detached in {len(cuts)} of "
            f"{counted(calls, 'step')} ({steps}): gradients reach back {counted(reach, 'step')} at "
            "most; right for truncated backpropagation through time",
        )
    for is_held, reasons in LOST.items():
        lost = [n for n, one in arrived.items() if one.is_renewed and one.is_held == is_held]
        if lost:
            has, how = verb_of(lost, "has", "have"), verb_of(lost, *reasons)
            yield Finding(WRONG, ", ".join(lost), f"{has} no memory between steps: {how}")
