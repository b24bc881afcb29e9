"""The four phases of a case: what is prepared outside the clock and what is called inside it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snnbench.adapters.base.contract import Program


@dataclass(frozen=True)
class Phase:
    """`prepare(i)` makes what call number i needs, untimed; `call` is timed and hands back what is waited for."""

    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]


def phases(program: Program, inputs: list[Any], upstream: Any) -> dict[str, Phase]:
    """Inputs take turns, so that nothing is answered from memory; gradients of earlier calls are dropped untimed."""

    def prepared(index: int) -> Any:
        program.release()
        return inputs[index % len(inputs)]

    def forwarded(index: int) -> Any:
        result = program.forward(prepared(index))
        program.wait(result)
        return result

    return {
        "forward": Phase(prepared, program.forward),
        "backward": Phase(forwarded, lambda result: program.backward(result, upstream)),
        "step": Phase(prepared, lambda x: program.step(x, upstream)),
        "inference": Phase(prepared, program.inference),
    }
