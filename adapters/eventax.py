"""eventax (https://github.com/Efficient-Scalable-Machine-Learning/eventax): a row without figures, for it has no steps.

Tried with version 0.1.0: its neurons are differential equations, solved between events by Diffrax. A spike is a root of
v(t) − θ, at a time of its own, and its gradient is the exact one of that time.
"""

from .base.jax_adapter import JaxAdapter


class Eventax(JaxAdapter):
    name = "eventax"
    distribution = "eventax"
    refusal = "eventax's spikes have exact times and exact gradients: there are no steps and no surrogate to prove"
