"""Plain JAX: the recurrence under `lax.scan`, what a user writes without any framework."""

from .base import Case
from .jax_adapter import JaxAdapter
from .surrogates import jax_spike


class JaxScan(JaxAdapter):
    name = "jax"

    def supports(self, case: Case) -> str | None:
        if case.neuron.max_spikes > 1 and case.neuron.reset.startswith("hard"):
            return "a hard reset after a count of spikes is not defined"
        return None

    def neuron(self, spec, features):
        import jax
        import jax.numpy as jnp

        spike = jax_spike(spec)
        hold = jax.lax.stop_gradient
        subtract = spec.threshold / spec.decay if spec.reset == "soft-undecayed" else spec.threshold

        def reset(v, s):
            if spec.reset == "none":
                return v
            if spec.reset == "hard-straight":
                return v - hold(v * s)
            s = hold(s) if spec.detach_reset else s
            return v * (1 - s) if spec.reset == "hard" else v - subtract * s

        def step(v, current):
            v = spec.decay * v + current
            s = spike(v)
            return reset(v, s), s

        return lambda currents: jax.lax.scan(step, jnp.zeros_like(currents[0]), currents)[1]
