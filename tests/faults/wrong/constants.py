"""Adapters with a wrong constant in the forward. Every class says what is wrong with it."""

from dataclasses import replace

from bases import OfLayer

from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.torch_loop import TorchLoop


class DecayOff(TorchLoop):
    """Uses a decay that is 0.05 % too small."""

    name = "wrong-decay-off"

    def neuron(self, spec, features):
        return super().neuron(self.changed(spec), features)

    def changed(self, spec):
        return replace(spec, decay=0.9995 * spec.decay)


class DecayOffABit(DecayOff):
    """Uses a decay that is 0.001 % too small: gradients change, spikes do not."""

    name = "wrong-decay-off-a-bit"

    def changed(self, spec):
        return replace(spec, decay=0.99999 * spec.decay)


class ThresholdOff(DecayOff):
    """Uses a threshold that is 0.1 % too large."""

    name = "wrong-threshold-off"

    def changed(self, spec):
        return replace(spec, threshold=1.001 * spec.threshold)


class OtherReset(DecayOff):
    """Resets in another way."""

    name = "wrong-other-reset"

    def changed(self, spec):
        return spec.with_reset(
            {"soft": "soft-undecayed", "hard": "none", "none": "hard"}[spec.reset]
        )


class Biasless(LinearNeuron):
    def forward(self, x):
        bias = None if self.linear.bias is None else 0 * self.linear.bias
        return self.neuron(x @ self.linear.weight.T + (0 if bias is None else bias))


class NoBias(OfLayer):
    """Ignores the bias."""

    name = "wrong-no-bias"
    kind = Biasless
