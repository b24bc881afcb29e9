"""What a wrong neuron does to the currents (T, B, N) or the spikes of a right one: functions
(right, currents) → spikes."""

import torch


def batch_scanned(right, currents):
    return right(currents.transpose(0, 1)).transpose(0, 1)


def pointwise(right, currents):
    return right(currents.flatten(0, 1).unsqueeze(0)).reshape(currents.shape)


def next_step(currents):
    """The currents of the next step, zeros after the last."""
    return torch.cat([currents[1:], torch.zeros_like(currents[:1])])


def looks_ahead(share):
    return lambda right, currents: right(currents + share * next_step(currents))


def items_mix(share):
    return lambda right, currents: right(currents + share * currents.mean(1, keepdim=True))
