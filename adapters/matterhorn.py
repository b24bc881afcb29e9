"""Matterhorn (https://github.com/xjtuiair-cag/Matterhorn): its `LIF`, a loop over the steps in
TorchScript.

Its input is multiplied by 1/τ = 1 − decay. Its resets are attached: `soft`, and `{ reset = "hard",
detach_reset = false }`. It takes only a surrogate's name and ignores the parameter; an unknown name
gives a Gaussian. Superspike is not among them, so `soft` is proved with `{ reset = "soft",
surrogate = "rectangle" }`. Its sigmoid divides infinity by infinity where a potential is 22 or more
below the threshold. torch.compile did not end within two minutes on 31 steps.
"""

from snnbench.core.case import Case

from .base.torch_adapter import TorchAdapter

FIRING = {("rectangle", 1): "Rectangular", ("triangle", 1): "Polynomial"}
"""Surrogates here, each with its only slope in Matterhorn's `LIF`, and their names there."""


class Matterhorn(TorchAdapter):
    name = "matterhorn-pytorch"
    requires = ("torch", "matterhorn_pytorch")
    modes = ("eager",)

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset not in ("soft", "hard") or spec.detach_reset:
            return "LIF subtracts or resets to zero, never detached"
        if (spec.surrogate, spec.slope) not in FIRING:
            if (spec.surrogate, spec.slope) == ("sigmoid", 4):
                return (
                    "its sigmoid's gradient is not finite where a potential is far below the "
                    "threshold"
                )
            return (
                f"has no surrogate {spec.surrogate} of slope {spec.slope:g}: rectangle and "
                "triangle of 1, Gaussian"
            )
        if spec.max_spikes > 1:
            return "Matterhorn's LIF has no surrogate of ours with counts of spikes"
        return "Matterhorn's LIF always leaks" if spec.decay == 1 else None

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def neuron(self, spec, features):
        from matterhorn_pytorch import snn

        firing = getattr(snn, FIRING[spec.surrogate, spec.slope])()
        tau = 1 / (1 - spec.decay)
        return loop(snn.LIF(spec.threshold, 0.0, tau, firing, hard_reset=spec.reset == "hard"))

    def native(self, features):
        """LIF(): τ = 2, input times 1/2, θ = 1, to zero with gradient, surrogate Gaussian of
        variance 0.16.

        Source: the network in Matterhorn's README and the defaults of `matterhorn_pytorch.snn.LIF`.
        """
        from matterhorn_pytorch import snn

        return loop(snn.LIF())


def loop(lif):
    from .base.time_loop import TimeLoop

    class Loop(TimeLoop):
        def __init__(self):
            super().__init__()
            self.lif = lif

        def scan(self, currents, state):
            return self.lif(currents, state)

    return Loop()
