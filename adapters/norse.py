"""Norse's `LIFBox` step, lifted over time by `SNN` (https://norse.github.io).

The step multiplies its input by dt/τ = 1 − decay, so the currents are scaled by the inverse.
"""

from .base import Case
from .torch_adapter import TorchAdapter


class Norse(TorchAdapter):
    name = "norse"
    requires = ("torch", "norse")

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset not in ("soft", "hard", "none"):
            return f"LIFBox has no reset {spec.reset!r}"
        if spec.surrogate != "superspike" or spec.slope != 1:
            return "Norse's superspike ignores its slope (alpha) and other surrogates differ"
        if spec.decay == 1 or spec.max_spikes > 1:
            return "LIFBox always leaks and gives one spike a step"
        return None

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def neuron(self, spec, features):
        import torch
        from norse.torch.functional.lif_box import LIFBoxFeedForwardState, LIFBoxParameters, lif_box_feed_forward_step
        from norse.torch.functional.reset import reset_subtract
        from norse.torch.module.snn import SNN

        from .time_loop import TimeLoop

        def spike_of(z):
            return z.detach() if spec.detach_reset else z

        reset = {
            "soft": lambda z, v, v_reset, v_th: reset_subtract(spike_of(z), v, v_reset, v_th),
            "hard": lambda z, v, v_reset, v_th: v * (1 - spike_of(z)),
            "none": lambda z, v, v_reset, v_th: v,
        }[spec.reset]
        parameters = LIFBoxParameters(
            tau_mem_inv=torch.tensor(1 - spec.decay),
            v_th=torch.tensor(spec.threshold),
            method="super",
            alpha=torch.tensor(1.0),
            reset_method=reset,
        )

        def rest(current):
            v = torch.zeros(current.shape[1:], device=current.device, dtype=current.dtype)
            return LIFBoxFeedForwardState(v=v)

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.snn = SNN(lif_box_feed_forward_step, rest, parameters, dt=1.0)

            def scan(self, currents, state):
                return self.snn(currents, state)

            def step(self, current, state):
                state = rest(current.unsqueeze(0)) if state is None else state
                return lif_box_feed_forward_step(current, state, parameters, dt=1.0)

        return Loop()

    def native(self, features):
        """LIF(): synapse of 5 ms and membrane of 10 ms at steps of 1 ms, to zero with gradient, surrogate superspike.

        Source: the spiking classifier in Norse's README, from its MNIST tutorial (norse.github.io/notebooks), whose `LIFCell()`
        is applied to every time step by `norse.torch.LIF()`, and the defaults of `LIFParameters`. Their `alpha` of 100 is
        ignored by Norse 1.1.
        """
        from norse.torch import LIF

        from .time_loop import TimeLoop

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = LIF()

            def scan(self, currents, state):
                return self.lif(currents, state)

        return Loop()
