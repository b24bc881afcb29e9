"""Neurons that loop over time in Python. A `TimeLoop` can be run piece by piece, so that it is
compiled in chunks or holds a linear layer. An `Uncut` neuron only runs from the first step to the
last."""

from collections.abc import Callable
from math import isqrt
from typing import Any

import torch
from torch import Tensor

State = Any
"""A framework's state: a tensor or a tuple of tensors, None at rest."""


class TimeLoop(torch.nn.Module):
    """A neuron that takes and returns its state: currents (T, B, *features) → spikes of that
    shape, from rest.

    Subclass and define either `step` or, where the framework has the loop, `scan`: the other is
    made of it. Gradients must flow through the state.

        class Loop(TimeLoop):
            def step(self, current, v):
                v = current if v is None else 0.9 * v + current
                s = spike(v)
                return s, v - s
    """

    def scan(self, currents: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns (spikes (T, B, *features), state after the last step) of currents (T, B,
        *features)."""
        spikes = []
        for current in currents.unbind(0):
            spike, state = self.step(current, state)
            spikes.append(spike)
        return torch.stack(spikes), state

    def step(self, current: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns (spikes (B, *features), next state) of one step's currents (B, *features)."""
        spikes, state = self.scan(current.unsqueeze(0), state)
        return spikes.squeeze(0), state

    def forward(self, currents: Tensor) -> Tensor:
        return self.scan(currents, None)[0]


class Firing(TimeLoop):
    """A `TimeLoop` by `fire(current, state)` → (spikes, potentials before the spike, next state),
    all of one step."""

    def fire(self, current: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        raise NotImplementedError

    def step(self, current: Tensor, state: State) -> tuple[Tensor, State]:
        spikes, _, state = self.fire(current, state)
        return spikes, state


class Potentials(torch.nn.Module):
    """A neuron that also hands out its potentials: currents (T, B, *features) → (spikes, potentials
    before the spike), both of that shape."""

    class Both(TimeLoop):
        """Spikes and potentials as one tensor, so that a compiler cuts this loop like others."""

        def __init__(self, neuron: Firing) -> None:
            super().__init__()
            self.neuron = neuron

        def step(self, current: Tensor, state: State) -> tuple[Tensor, State]:
            spikes, potentials, state = self.neuron.fire(current, state)
            return torch.stack([spikes, potentials]), state

    def __init__(self, neuron: Firing) -> None:
        super().__init__()
        self.both = self.Both(neuron)

    def forward(self, currents: Tensor) -> tuple[Tensor, Tensor]:
        spikes, potentials = self.both(currents).unbind(1)
        return spikes, potentials


class Stepwise(TimeLoop):
    """A linear layer inside the time loop, as tutorials write it: (T, B, inputs) → (T, B, outputs),
    step by step."""

    def __init__(self, inputs: int, outputs: int, bias: bool, neuron: TimeLoop) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs, bias=bias)
        self.neuron = neuron

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self.neuron.step(self.linear(x), state)


class Checkpointed(TimeLoop):
    """A neuron, with the linear layer in front of it or without, in segments of √T steps: backward
    runs a segment again from the state before it."""

    def __init__(self, linear: torch.nn.Linear | None, neuron: TimeLoop) -> None:
        super().__init__()
        self.linear, self.neuron = linear, neuron

    @property
    def recurrent(self) -> torch.nn.Module:
        return self.neuron.recurrent

    def scan(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        from torch.utils.checkpoint import checkpoint

        spikes = []
        for segment in x.split(max(1, isqrt(len(x)))):
            of_segment, state = checkpoint(
                self._segment, segment, state, use_reentrant=False, preserve_rng_state=False
            )
            spikes.append(of_segment)
        return torch.cat(spikes), state

    def _segment(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self.neuron.scan(x if self.linear is None else self.linear(x), state)


class Uncut(torch.nn.Module):
    """A neuron with a loop that cannot be cut: `spikes(lif, currents)`, from rest, of a framework's
    module `lif`. `state` names the attribute of `lif` that holds its state after a call, if there
    is one."""

    def __init__(
        self,
        lif: torch.nn.Module,
        spikes: Callable[[Any, Tensor], Tensor],
        state: str | None = None,
    ) -> None:
        super().__init__()
        self.lif, self.spikes, self.state_name = lif, spikes, state

    @property
    def state(self) -> State:
        return getattr(self.lif, self.state_name) if self.state_name else None

    def forward(self, currents: Tensor) -> Tensor:
        return self.spikes(self.lif, currents)
