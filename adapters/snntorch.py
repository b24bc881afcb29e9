"""snnTorch's `Leaky`, one call per step (https://snntorch.readthedocs.io).

Its own `subtract` reset takes θ off *after* the decay (that is `soft-undecayed`, detached), so for `soft` the reset
is applied here to the membrane that `Leaky` hands out, as its `reset_mechanism="none"` is meant for.
"""

from .base import Case
from .torch_adapter import TorchAdapter


class SnnTorch(TorchAdapter):
    name = "snntorch"
    requires = ("torch", "snntorch")

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset not in ("soft", "hard", "none"):
            return f"Leaky has no reset {spec.reset!r}"
        if spec.reset == "hard" and not spec.detach_reset:
            return "Leaky's hard reset is always detached"
        if spec.surrogate not in ("superspike", "atan") or spec.max_spikes > 1:
            return "offered here with the surrogates superspike and atan, one spike a step"
        return None

    def neuron(self, spec, features):
        import torch
        from snntorch import Leaky, surrogate

        from .time_loop import TimeLoop

        gradient = {
            "superspike": lambda: surrogate.fast_sigmoid(slope=spec.slope),
            "atan": lambda: surrogate.atan(alpha=2 * spec.slope),
        }[spec.surrogate]()
        mechanism = "zero" if spec.reset == "hard" else "none"

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.leaky = Leaky(spec.decay, threshold=spec.threshold, spike_grad=gradient, reset_mechanism=mechanism)

            def step(self, current, mem):
                spike, mem = self.leaky(current, torch.zeros_like(current) if mem is None else mem)
                if spec.reset == "soft":
                    mem = mem - spec.threshold * (spike.detach() if spec.detach_reset else spike)
                return spike, mem

        return Loop()

    def native(self, features):
        """Leaky(beta=0.95): β = 0.95, subtracts θ undecayed and detached, surrogate atan(2).

        Source: snnTorch's tutorial 5, "Training Spiking Neural Networks with snntorch" (docs/tutorials/tutorial_5.rst), and
        the defaults of `snntorch.Leaky`. The linear layer stands before the loop over time, not in it as in the tutorial.
        """
        import torch
        from snntorch import Leaky

        from .time_loop import TimeLoop

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.leaky = Leaky(beta=0.95)

            def step(self, current, mem):
                return self.leaky(current, torch.zeros_like(current) if mem is None else mem)

        return Loop()
