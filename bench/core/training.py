"""Losses and optimizers of a training step, the same for every framework.

A loss is the mean cross-entropy of B items with labels y (B,). The network's output is o (T', B, K)
for K classes, with T' = 1 behind a node over time. The logits are

    cross-entropy    the mean of o over time (Liang et al., temporal fusion)
    spike-count      the sum of spikes o over time (snnTorch's `ce_count_loss`)
    membrane         the sum of potentials o over time (the same loss, as in the tutorial for IPUs)
    sum              the sum of o over time, whatever it is (Lenz 2022)

An optimizer updates a parameter p by its gradient g in steps k = 1, 2, … Its states begin at 0.

    sgd     m ← μ·m + g;  p ← p − η·m
            η = 0.01, μ = 0.9 (Liang et al.)
    adam    m ← β₁·m + (1 − β₁)·g;  v ← β₂·v + (1 − β₂)·g²
            p ← p − η·(m / (1 − β₁ᵏ)) / (√(v / (1 − β₂ᵏ)) + ε)
            η = 0.001, β = (0.9, 0.999), ε = 1e-8 (Kingma & Ba 2015)

Parameters that are scaled by s have gradients g/s. With η·s² for sgd, and with η·s and ε/s for
Adam, they stay s times those of the network.
"""

from dataclasses import dataclass

from .network import Network

LOSSES = ("cross-entropy", "spike-count", "membrane", "sum")
MEAN_OF_TIME = ("cross-entropy",)
"""Losses of the mean over time; the others take the sum."""
PLAIN = {"loss": "upstream", "optimizer": "plain"}
"""Values of a grid for cases without a loss (the gradient of the output is given) and without an
optimizer (gradient descent)."""


@dataclass(frozen=True)
class Optimizer:
    """Constants of an optimizer: `rate` is η, `first` μ or β₁, `second` β₂ or None."""

    rate: float
    first: float
    second: float | None = None
    epsilon: float = 0.0

    @property
    def share(self) -> float:
        """The factor of the gradient in the first state after one step from 0."""
        return 1.0 if self.second is None else 1 - self.first

    def scaled(self, scale: float) -> tuple[float, float]:
        """Returns (rate, epsilon) for parameters that are scaled by `scale`."""
        if self.second is None:
            return self.rate * scale**2, 0.0
        return self.rate * scale, self.epsilon / scale


OPTIMIZERS = {"sgd": Optimizer(0.01, 0.9), "adam": Optimizer(0.001, 0.9, 0.999, 1e-8)}


def refused(loss: str | None, network: Network) -> str | None:
    """Returns the reason why `network` cannot have this loss, None if it can."""
    if loss is None:
        return None
    output, features = network.output, network.shapes[network.output.name]
    if len(features) != 1:
        return f"a loss is of classes (K,), and this network hands out {features}"
    neuron = output.kind == "neuron"
    potentials = output.kind == "integrator" or (neuron and bool(output.options["potentials"]))
    if loss == "spike-count" and (not neuron or potentials):
        return "loss spike-count counts spikes, and this network does not end with them"
    if loss == "membrane" and not potentials:
        return "loss membrane sums potentials, and this network does not hand them out"
    return None
