"""The plain torch loop, with a known amount of memory more in forward and in backward."""

import torch

from snnbench.adapters.torch_loop import TorchLoop

MIB = 1 << 20
FORWARD, BACKWARD = 128 * MIB, 160 * MIB


class TakesMemory(torch.autograd.Function):
    @staticmethod
    def forward(ctx, spikes):
        passing = torch.ones(FORWARD, dtype=torch.uint8)
        result = (
            spikes.clone()
        )  # allocated behind `passing`, so that what backward takes does not fit into the gap
        del passing
        return result

    @staticmethod
    def backward(ctx, gradient):
        torch.ones(BACKWARD, dtype=torch.uint8)
        return gradient


class HeavyTorch(TorchLoop):
    name = "heavy-torch"

    def neuron(self, spec, features):
        right = super().neuron(spec, features)

        class Heavy(torch.nn.Module):
            def forward(self, currents):
                return TakesMemory.apply(right(currents))

        return Heavy()
