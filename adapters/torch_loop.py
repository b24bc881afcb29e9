"""A plain PyTorch loop: what a user writes without any framework."""

from .base.case import Case
from .base.spikes import torch_spike
from .base.torch_adapter import TorchAdapter


class TorchLoop(TorchAdapter):
    name = "torch"

    def neuron(self, spec, features):
        import torch

        from .base.time_loop import TimeLoop

        spike = torch_spike(spec).apply

        def reset(v, s):
            if spec.reset == "none":
                return v
            if spec.reset == "hard-straight":
                return v - (v * s).detach()
            s = s.detach() if spec.detach_reset else s
            return v * (1 - s) if spec.reset == "hard" else v - spec.subtracted * s

        class Loop(TimeLoop):
            def step(self, current, v):
                v = torch.zeros_like(current) if v is None else v
                v = spec.decay * v + current
                s = spike(v)
                return s, reset(v, s)

        return Loop()

    def supports(self, case: Case) -> str | None:
        if case.neuron.max_spikes > 1 and case.neuron.reset.startswith("hard"):
            return "a hard reset after a count of spikes is not defined"
        return None
