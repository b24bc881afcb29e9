"""The four phases of a case: what is prepared outside the clock and what is called inside it. No call meets another's values,
neither its input nor, where they could have been trained, its parameters: answers from memory and copies made once are wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from snnbench.adapters.base.contract import Program


@dataclass(frozen=True)
class Draw:
    """The values of one call: input number `source` rolled by `turn`, and the parameters rolled by `parameters`."""

    source: int
    turn: int
    parameters: int


@dataclass(frozen=True)
class Phase:
    """`prepare(i)` makes what call number i needs, untimed; `call` is timed and hands back what is waited for."""

    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]


class Phases:
    """The phases of a program by name, and the draw of the last call. `inputs` are on the device; all have one shape."""

    def __init__(self, program: Program, inputs: list[Any], upstream: Any, random: Random) -> None:
        self.program, self.inputs, self.random = program, inputs, random
        self.buffer: Any = None
        self.draw = Draw(0, 0, 0)
        self.by_name = {
            "forward": Phase(self._renewed, program.forward),
            "backward": Phase(self._forwarded, lambda result: program.backward(result, upstream)),
            "step": Phase(self._renewed, lambda x: program.step(x, upstream)),
            "inference": Phase(self._served, program.inference),
        }

    def put(self, draw: Draw, parameters: bool = True) -> Any:
        """Write the values of a draw; its input on the device. Gradients of earlier calls are dropped."""
        self.program.release()
        if parameters:
            self.program.roll_parameters(draw.parameters)
        self.draw, self.buffer = draw, self.program.roll_input(self.buffer, self.inputs[draw.source], draw.turn)
        return self.buffer

    def _drawn(self) -> Draw:
        return Draw(self.random.randrange(len(self.inputs)), self.random.getrandbits(62), self.random.getrandbits(62))

    def _renewed(self, index: int) -> Any:
        return self.put(self._drawn())

    def _forwarded(self, index: int) -> Any:
        result = self.program.forward(self._renewed(index))
        self.program.wait(result)
        return result

    def _served(self, index: int) -> Any:
        """Who only infers may prepare parameters once: they change before the first call alone."""
        if index == 0:
            return self._renewed(index)
        return self.put(replace(self._drawn(), parameters=self.draw.parameters), parameters=False)
