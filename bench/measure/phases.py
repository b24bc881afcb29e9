"""The four phases of a case: what is prepared outside the clock and what is called inside it. No call meets another's values,
neither its input nor its upstream gradient nor, where they could have been trained, its parameters: answers from memory, copies
made once and gradients computed before the clock runs are wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from snnbench.adapters.base.contract import Program


@dataclass(frozen=True)
class Draw:
    """The values of one call: input number `source` rolled by `turn`, and parameters and upstream rolled by their own."""

    source: int
    turn: int
    parameters: int
    upstream: int


@dataclass(frozen=True)
class Phase:
    """`prepare(i)` makes what call number i needs, untimed; `call` is timed and hands back what is waited for. `repeatable`: a
    call leaves parameters and what was prepared as they were."""

    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]
    repeatable: bool = False


class Phases:
    """The phases of a program by name, and the draw of the last call. `inputs` are on the device; all have one shape."""

    def __init__(self, program: Program, inputs: list[Any], upstream: Any, random: Random) -> None:
        self.program, self.inputs, self.random = program, inputs, random
        self.given_upstream = upstream
        self.buffer: Any = None
        self.upstream: Any = None
        self.draw = Draw(0, 0, 0, 0)
        self.by_name = {
            "forward": Phase(self._renewed, program.forward, repeatable=True),
            "backward": Phase(self._forwarded, self.backward),
            "step": Phase(self._stepped, lambda x: program.step(x, self.upstream)),
            "inference": Phase(self._served, program.inference, repeatable=True),
        }

    def put(self, draw: Draw, parameters: bool = True) -> Any:
        """Write the values of a draw; its input on the device. Gradients of earlier calls are dropped."""
        self.program.release()
        if parameters:
            self.program.roll_parameters(draw.parameters)
        self.draw, self.buffer = draw, self.program.roll_input(self.buffer, self.inputs[draw.source], draw.turn)
        return self.buffer

    def forget(self) -> None:
        """Drop the input of the last call, its upstream gradient, and its gradients."""
        self.program.release()
        self.buffer = self.upstream = None

    def backward(self, result: Any) -> Any:
        """The call of the phase backward."""
        return self.program.backward(result, self.upstream)

    def write_over(self, parameters: bool) -> Draw:
        """Give the buffer of inputs other values than the last call's, and the parameters where no gradient hangs on them. The
        draw of what they hold then."""
        turn, draw = self.random.getrandbits(62), self.draw
        later = replace(draw, source=1 - draw.source, turn=turn, parameters=turn if parameters else draw.parameters)
        self.buffer = self.program.roll_input(self.buffer, self.inputs[later.source], turn)
        if parameters:
            self.program.roll_parameters(turn)
        return later

    def _drawn(self) -> Draw:
        return Draw(self.random.randrange(len(self.inputs)), *(self.random.getrandbits(62) for _ in range(3)))

    def _renewed(self, index: int) -> Any:
        return self.put(self._drawn())

    def _stepped(self, index: int) -> Any:
        x = self._renewed(index)
        self._renew_upstream()
        return x

    def _forwarded(self, index: int) -> Any:
        """The forward of a backward knows nothing of its upstream gradient."""
        result = self.program.forward(self._renewed(index))
        self.program.wait(result)
        self._renew_upstream()
        return result

    def _renew_upstream(self) -> None:
        self.upstream = self.program.roll_input(self.upstream, self.given_upstream, self.draw.upstream)

    def _served(self, index: int) -> Any:
        """Who only infers may prepare parameters once: they change before the first call alone."""
        if index == 0:
            return self._renewed(index)
        return self.put(replace(self._drawn(), parameters=self.draw.parameters), parameters=False)
