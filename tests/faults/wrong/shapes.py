"""Networks in which a node hands out another shape. What stands behind it may raise."""

import torch
from networks import Replaced

from snnbench.adapters.jax_scan import JaxScan


class FlattenedWithoutTheFirst(Replaced):
    """Leaves out the first feature."""

    name = "wrong-flattened-without-the-first"
    kinds = ("flatten",)

    class kind(torch.nn.Module):
        def forward(self, x):
            return x.flatten(2)[..., 1:]

    def module(self, node, features):
        return self.kind()


class FlattenLeftOut(FlattenedWithoutTheFirst):
    """Hands on the image as it is."""

    name = "wrong-flatten-left-out"

    class kind(torch.nn.Identity):
        pass


class OneChannelFewer(JaxScan):
    """Its neuron hands out one channel fewer, which the layer behind it cannot read."""

    name = "wrong-one-channel-fewer"

    def neuron_of(self, case, node, features):
        right = super().neuron_of(case, node, features)
        return lambda currents: right(currents)[:, :, 1:]


class PoolBeforeNeuron(Replaced):
    """Pools the potentials and not the spikes: the neuron has another shape."""

    name = "wrong-pool-before-neuron"

    def modules(self, case, network):
        if "pool1" not in network.shapes:
            return super().modules(case, network)
        neuron = self.lif(case.neuron, network.shapes["pool1"], case.construction)
        first = torch.nn.Sequential(
            torch.nn.Flatten(0, 1), torch.nn.MaxPool2d(3, 2, 1), Split(case.time_steps), neuron
        )
        return {("neuron1",): first, ("pool1",): torch.nn.Identity()}


class Split(torch.nn.Module):
    """(T·B, …) → (T, B, …)."""

    def __init__(self, time_steps):
        super().__init__()
        self.time_steps = time_steps

    def forward(self, x):
        return x.unflatten(0, (self.time_steps, -1))
