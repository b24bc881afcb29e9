"""The phases of a case: preparation outside the clock and a call inside it. No two calls share
an input, an upstream gradient or, where they could have been trained, parameters. So results
from memory, copies made once and gradients computed before the clock starts are wrong."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

from ..core.contract import Program, Statistics
from ..core.rolling import alike, all_rolled

CLOCK = SimpleNamespace(perf_counter=time.perf_counter, process_time=time.process_time)
"""Clocks as they were when the harness was imported: adapters come later, and may replace those
of `time`."""


@dataclass(frozen=True)
class Draw:
    """The values of one call: input number `source` rolled by `turn`; parameters and upstream
    each rolled by their own number."""

    source: int
    turn: int
    parameters: int
    upstream: int


def draw_of(seed: int, number: int, phase: str, sources: int = 2) -> Draw:
    """Returns the draw of call `number` of a phase, counted from 0, in a slot with the harness's
    seed. In inference all calls have the parameters of the first, which may be prepared once."""
    random = Random(f"{seed} {number}")
    draw = Draw(random.randrange(sources), *(random.getrandbits(62) for _ in range(3)))
    return (
        replace(draw, parameters=draw_of(seed, 0, "", sources).parameters)
        if phase == "inference"
        else draw
    )


@dataclass(frozen=True)
class Phase:
    """`prepare(i)` makes the state of call number i, untimed; `call` is timed and returns the
    result to wait for. `repeatable`: a call changes neither parameters nor the prepared state.
    `aside`: the seconds and CPU seconds of the harness itself within the last call."""

    prepare: Callable[[int], Any]
    call: Callable[[Any], Any]
    repeatable: bool = False
    aside: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)


@dataclass(frozen=True)
class Prepared:
    """A call that is ready. `before` runs on the device right before it, untimed."""

    call: Callable[[], Any]
    before: Callable[[], object] | None = None

    def behind(self, first: Callable[[], object]) -> "Prepared":
        """Returns the same call, with `first` before everything else."""
        return Prepared(self.call, lambda: (first(), self.before and self.before()))


class Phases:
    """The phases of a program by name. `inputs` are on the device; all have one shape. `seed` is
    that of the draws: calls are counted from 0 whenever it is set. An inference runs in eval mode
    with the running `statistics`, rolled as the parameters are."""

    def __init__(
        self,
        program: Program,
        inputs: list[Any],
        upstream: Any,
        seed: int,
        statistics: Statistics | None = None,
    ) -> None:
        self.program, self.inputs, self.seed = program, inputs, seed
        self.given_upstream, self.statistics = upstream, statistics or {}
        # A plain dictionary does not notice that it is read.
        self.fixed_memory = program.fixed_memory if type(program.fixed_memory) is dict else {}
        self.buffer: Any = None
        self.upstream: Any = None
        self.by_name = {
            "forward": Phase(self._renewed, program.forward, repeatable=True),
            "backward": Phase(self._forwarded, self.backward),
            "optimizer": Phase(self._graded, lambda result: program.optimize(result)),
            "step": Phase(self._stepped, lambda x: program.step(x, self.upstream)),
            "inference": Phase(self._served, program.inference, repeatable=True),
        }

    def put(self, draw: Draw, phase: str, parameters: bool = True) -> Any:
        """Writes the values of a draw for a call of `phase` and returns its input on the device.
        Drops gradients of earlier calls."""
        self.program.release()
        if parameters:
            self.program.roll_parameters(draw.parameters)
            if phase == "inference":
                self.program.prepare_inference(all_rolled(self.statistics, draw.parameters))
        self.buffer = self._rolled("x", draw, self.buffer)
        return self.buffer

    def forget(self) -> None:
        """Drops the input of the last call, its upstream gradient, and its gradients."""
        self.program.release()
        self.buffer = self.upstream = None

    def backward(self, result: Any) -> Any:
        return self.program.backward(result, self.upstream)

    def in_a_row(self, name: str, count: int, apart: bool) -> list[Prepared]:
        """Returns `count` calls of a phase, to be made in this order. `apart`: every call has
        memory of its own for input and upstream gradient; else all share those of the first.
        Parameters are renewed before every forward, which could keep copies of them; the other
        phases renew them themselves, or continue from their forward."""
        draws = [self._drawn(index, name) for index in range(count)]
        program, own = self.program, draws if apart else draws[:1]
        self.put(draws[0], name)
        inputs = [self._rolled("x", draw) for draw in own] * (1 if apart else count)
        if name in ("forward", "inference"):
            call = getattr(program, name)
            renewed = name == "forward" and any(program.shapes.values())
            before = [
                partial(program.roll_parameters, draw.parameters) if renewed else None
                for draw in draws
            ]
            return [
                Prepared(partial(call, x), first) for x, first in zip(inputs, before, strict=True)
            ]
        upstreams = [self._rolled("upstream", draw) for draw in own] * (1 if apart else count)
        if name == "step":
            return [
                Prepared(partial(program.step, *given))
                for given in zip(inputs, upstreams, strict=True)
            ]
        results = [program.forward(x) for x in inputs]
        if name == "optimizer":
            graded = [
                self._fresh_backward(*given) for given in zip(results, upstreams, strict=True)
            ]
            return [Prepared(partial(program.optimize, result)) for result in graded]
        return [
            Prepared(partial(self._fresh_backward, *given))
            for given in zip(results, upstreams, strict=True)
        ]

    def _fresh_backward(self, result: Any, upstream: Any) -> Any:
        """Runs a backward that adds to no earlier gradients."""
        self.program.release()
        return self.program.backward(result, upstream)

    def _drawn(self, index: int, phase: str) -> Draw:
        return draw_of(self.seed, index, phase, len(self.inputs))

    def _rolled(self, name: str, draw: Draw, buffer: Any = None) -> Any:
        """Returns the `x` or the `upstream` of a draw, written where the program reads it; else
        over `buffer`, or into new memory. Raises TypeError if writing would convert the numbers,
        which the program must do inside the clock."""
        given, turn = (
            (self.inputs[draw.source], draw.turn)
            if name == "x"
            else (self.given_upstream, draw.upstream)
        )
        place = self.fixed_memory.get(name)
        if place is not None and not alike(place, given):
            raise TypeError(
                f"fixed_memory[{name!r}] must be like what "
                f"put_{'input' if name == 'x' else name} gave, in every way"
            )
        return self.program.roll_input(buffer if place is None else place, given, turn)

    def _renewed(self, index: int) -> Any:
        return self.put(self._drawn(index, "forward"), "forward")

    def _stepped(self, index: int) -> Any:
        draw = self._drawn(index, "step")
        self._renew_upstream(draw)
        return self.put(draw, "step")

    def _forwarded(self, index: int) -> Any:
        """Draws the upstream gradient after the forward, which cannot use it."""
        result = self.program.forward(self.put(self._drawn(index, "backward"), "backward"))
        self.program.wait(result)
        self._renew_upstream(self._drawn(index, "backward"))
        return result

    def _graded(self, index: int) -> Any:
        draw = self._drawn(index, "optimizer")
        result = self.program.forward(self.put(draw, "optimizer"))
        self._renew_upstream(draw)
        result = self.backward(result)
        self.program.wait(result)
        return result

    def _renew_upstream(self, draw: Draw) -> None:
        self.upstream = self._rolled("upstream", draw, self.upstream)

    def _served(self, index: int) -> Any:
        return self.put(self._drawn(index, "inference"), "inference", parameters=index == 0)
