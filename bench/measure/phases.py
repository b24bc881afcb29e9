"""The four phases of a case: what is prepared outside the clock and what is called inside it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Phase:
    """`prepare(i)` makes what call number i needs, untimed; `call` is timed and hands back what is waited for."""

    name: str
    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]


def phases(program, inputs: list, upstream) -> dict[str, Phase]:
    """Inputs take turns, so that nothing is answered from memory; gradients of earlier calls are dropped untimed."""

    def given(index):
        program.release()
        return inputs[index % len(inputs)]

    def forwarded(index):
        result = program.forward(given(index))
        program.wait(result)
        return result

    return {
        "forward": Phase("forward", given, program.forward),
        "backward": Phase("backward", forwarded, lambda result: program.backward(result, upstream)),
        "step": Phase("step", given, lambda x: program.step(x, upstream)),
        "inference": Phase("inference", given, program.inference),
    }
