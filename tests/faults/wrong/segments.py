"""Recurrent layers in segments of six steps that backward computes again, which hand something on
wrongly. Every class says what."""

import torch
from torch.utils.checkpoint import checkpoint

from snnbench.adapters.base.torch_network import Recurrent
from snnbench.adapters.torch_loop import TorchLoop

STEPS = 6


class Segments(TorchLoop):
    """The right recurrence, in segments: `state(state)` of one starts the next, and `used` of the
    segments are computed."""

    def program(self, case, network):
        program = super().program(case, network)
        for module in program.network.modules():
            if isinstance(module, Recurrent):
                module.scan = self.in_segments(module.scan)
        return program

    def in_segments(self, scan):
        def scanned(currents, state):
            spikes = []
            for segment in self.used(currents).split(STEPS):
                part, state = checkpoint(scan, segment, self.state(state), use_reentrant=False)
                spikes.append(part)
            spikes = torch.cat(spikes)
            missing = currents.new_zeros((len(currents) - len(spikes), *spikes.shape[1:]))
            return torch.cat([spikes, missing]), state

        return scanned

    def state(self, state):
        return state

    def used(self, currents):
        return currents


class StartAtRest(Segments):
    """Every segment starts at rest."""

    name = "wrong-segments-start-at-rest"

    def state(self, state):
        return None


class CutAtBorders(Segments):
    """No gradient passes from a segment to the one before it."""

    name = "wrong-segments-cut"

    def state(self, state):
        return state and tuple(part.detach() for part in state)


class LastSkipped(Segments):
    """The last segment, which is shorter, is left out."""

    name = "wrong-last-segment-skipped"

    def used(self, currents):
        return currents[: len(currents) // STEPS * STEPS]
