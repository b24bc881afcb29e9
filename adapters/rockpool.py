"""Rockpool's `LIFNeuronTorch`: no synapse, no recurrence, batch first (https://rockpool.ai).

Time constant, threshold and bias are trainable by default; here they are constants. Its time loop cannot be cut: `compile`
unrolls all of it, however many steps there are.
"""

import math

from .base import Case
from .surrogates import derivative
from .torch_adapter import TorchAdapter


class Rockpool(TorchAdapter):
    name = "rockpool"
    requires = ("torch", "rockpool.nn.modules")
    distribution = "rockpool"

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset != "soft" or spec.detach_reset:
            return "LIFNeuronTorch only subtracts, with gradient"
        if spec.decay == 1:
            return "LIFNeuronTorch always leaks"
        if case.construction == "stepwise":
            return "LIFNeuronTorch keeps the state of the first batch item only, detached: its time loop cannot be cut"
        return None

    def neuron(self, spec, features):
        import torch
        from rockpool.nn.modules import LIFNeuronTorch
        from rockpool.parameters import Constant

        slope_at = derivative(spec, torch)

        class Spike(torch.autograd.Function):
            """Rockpool's calling convention: (v, threshold, window, max_spikes_per_dt)."""

            @staticmethod
            def forward(ctx, v, threshold, window, most):
                ctx.save_for_backward(v, threshold)
                return torch.floor(v / threshold).clamp(min=0).minimum(most.to(v.device))

            @staticmethod
            def backward(ctx, gradient):
                v, threshold = ctx.saved_tensors
                return gradient * slope_at(v - threshold), None, None, None

        def constant(value):
            return Constant(torch.tensor(value))

        class Spikes(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lif = LIFNeuronTorch(
                    features[-1],
                    tau_mem=constant(-1 / math.log(spec.decay)),
                    threshold=constant(spec.threshold),
                    bias=constant(0.0),
                    dt=1.0,
                    spike_generation_fn=Spike,
                    max_spikes_per_dt=torch.tensor(float(spec.max_spikes)),
                )

            @property
            def state(self):
                return self.lif.vmem

            def forward(self, currents):
                self.lif.reset_state()
                return self.lif(currents.transpose(0, 1))[0].transpose(0, 1)

        return Spikes()

    def native(self, features):
        """LIFTorch(N): synapse and membrane of 20 ms at steps of 1 ms, many spikes a step, surrogate StepPWL.

        Source: the class that Rockpool's tutorial "Training a spiking network with Torch" is about, with the defaults of
        `rockpool.nn.modules.LIFTorch`. A spike subtracts θ; each step also multiplies by the (N, N) matrix of zeros that the
        class keeps where it is not recurrent. Time constants, thresholds and biases are trained along.
        """
        import torch
        from rockpool.nn.modules import LIFTorch

        from .base import Unsupported

        class Spikes(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lif = LIFTorch(features[-1])

            @property
            def state(self):
                return self.lif.vmem

            def forward(self, currents):
                if self.lif.threshold.dtype != torch.float32:
                    raise Unsupported(
                        "LIFTorch makes its spikes float32 and then fails to multiply them by its recurrent weights"
                    )
                self.lif.reset_state()
                return self.lif(currents.transpose(0, 1))[0].transpose(0, 1)

        return Spikes()
