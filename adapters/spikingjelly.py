"""SpikingJelly's `LIFNode` in multi-step mode (https://spikingjelly.readthedocs.io), version 2."""

from .base import Case
from .torch_adapter import TorchAdapter


class SpikingJelly(TorchAdapter):
    name = "spikingjelly"
    requires = ("torch", "spikingjelly.activation_based.neuron")
    distribution = "spikingjelly"

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset not in ("soft", "hard"):
            return f"LIFNode has no reset {spec.reset!r}"
        if spec.surrogate not in ("superspike", "atan", "sigmoid") or spec.max_spikes > 1:
            return "offered here with the surrogates superspike, atan and sigmoid, one spike a step"
        if spec.surrogate == "superspike" and spec.slope != 1:
            return "SuperSpike(alpha) scales the height with the slope; only slope 1 is the same"
        if spec.decay == 1:
            return "LIFNode always leaks (IFNode is another neuron)"
        return None

    def neuron(self, spec, features):
        from spikingjelly.activation_based import neuron, surrogate

        from .time_loop import TimeLoop

        gradient = {
            "superspike": lambda: surrogate.SuperSpike(alpha=spec.slope),
            "atan": lambda: surrogate.ATan(alpha=2 * spec.slope),
            "sigmoid": lambda: surrogate.Sigmoid(alpha=spec.slope),
        }[spec.surrogate]()

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = neuron.LIFNode(
                    tau=1 / (1 - spec.decay),
                    decay_input=False,
                    v_threshold=float(spec.threshold),
                    v_reset=0.0 if spec.reset == "hard" else None,
                    detach_reset=spec.detach_reset,
                    surrogate_function=gradient,
                    step_mode="m",
                )

            def start(self, state):
                self.lif.reset()
                if state is not None:
                    self.lif.v = state

            def scan(self, currents, state):
                self.start(state)
                return self.lif(currents), self.lif.v

            def step(self, current, state):
                self.start(state)
                return self.lif.single_step_forward(current), self.lif.v

        return Loop()

    def native(self, features):
        """LIFNode(tau=2, ATan()): v + (x − v)/2, to zero with gradient, surrogate atan(2).

        Source: SpikingJelly's tutorial "Single Fully Connected Layer SNN to Classify MNIST" and its code
        (spikingjelly/activation_based/examples/lif_fc_mnist.py), and the defaults of `LIFNode`. All steps are given at once
        (`step_mode="m"`), which its documentation recommends.
        """
        from spikingjelly.activation_based import neuron, surrogate

        from .time_loop import TimeLoop

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m")

            def scan(self, currents, state):
                self.lif.reset()
                if state is not None:
                    self.lif.v = state
                return self.lif(currents), self.lif.v

        return Loop()
