"""Adapters that learn their decay wrongly. Every class says how."""

import torch

from snnbench.adapters.base.spikes import reset, torch_spike
from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.kernels.spec import decay_of, parameter_of_decay


class Learning(TorchLoop):
    """The right neuron; its potential after a reset is `kept(decay, p)` one step later."""

    def neuron(self, spec, features):
        spike, adapter = torch_spike(spec).apply, self

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.decay = torch.nn.Parameter(torch.tensor([parameter_of_decay(spec)]))

            def step(self, current, v):
                v = torch.zeros_like(current) if v is None else v
                v = adapter.kept(spec, self.decay, v) + current
                s = spike(v)
                return s, reset(spec, v, s, torch.Tensor.detach)

        return Loop()

    @staticmethod
    def kept(spec, parameter, p):
        return decay_of(spec, parameter, torch) * p


class NotLearned(Learning):
    """Lets no gradient reach the decay's parameter."""

    name = "wrong-not-learned"

    @staticmethod
    def kept(spec, parameter, p):
        return decay_of(spec, parameter.detach(), torch) * p + 0 * parameter


class Halved(Learning):
    """Learns the decay half as fast."""

    name = "wrong-half-learned"

    @staticmethod
    def kept(spec, parameter, p):
        decay = decay_of(spec, parameter, torch)
        return decay.detach() * p + 0.5 * (decay - decay.detach()) * p


class NeverSlower(Learning):
    """Bounds the decay by its start, from which training takes it down alone."""

    name = "wrong-never-slower"

    @staticmethod
    def kept(spec, parameter, p):
        return decay_of(spec, parameter, torch).clamp(max=spec.decay) * p


class Detached(Learning):
    """Learns the decay, and lets no gradient pass to the step before."""

    name = "wrong-detached-decay"

    @staticmethod
    def kept(spec, parameter, p):
        return decay_of(spec, parameter, torch) * p.detach()


class Averaged(Learning):
    """Learns from the mean over neurons, not from their sum."""

    name = "wrong-averaged"

    @staticmethod
    def kept(spec, parameter, p):
        decay = decay_of(spec, parameter, torch)
        return decay.detach() * p + (decay - decay.detach()) * p / p.shape[-1]


class TakenForTheDecay(Learning):
    """Takes the parameter of a sigmoid for the decay itself."""

    name = "wrong-no-sigmoid"

    @staticmethod
    def kept(spec, parameter, p):
        return parameter * p


class Leaks(Learning):
    """Lets the sigmoid be what is lost and not what is kept."""

    name = "wrong-sigmoid-of-leak"

    @staticmethod
    def kept(spec, parameter, p):
        return (1 - decay_of(spec, parameter, torch)) * p
