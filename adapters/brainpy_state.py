"""brainpy.state (https://brainpy-state.readthedocs.io): BrainPy's state-based `LIF` under its own
loop, `brainstate.transform.for_loop`, with units, at steps of 1 ms.

It resets before the next step: `soft` subtracts the threshold, `hard` the potential as a constant,
which is `{ reset = "hard-straight", detach_reset = false }`. Its exponential Euler step multiplies
the input by 1 − decay.
"""

from math import log

from snnbench.core.case import Case
from snnbench.kernels.surrogates import derivative

from .base.jax_adapter import JaxAdapter

RESETS = {"soft": "soft", "hard-straight": "hard"}
"""The resets here, each with brainpy's `spk_reset`."""


class BrainpyState(JaxAdapter):
    name = "brainpy-state"
    requires = ("jax", "brainpy.state")
    distribution = "brainpy"

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset not in RESETS or spec.detach_reset:
            return (
                "LIF subtracts its threshold, or its potential as a constant (hard-straight), and "
                "never detaches the spike"
            )
        if spec.max_spikes > 1:
            return "brainpy.state's neurons fire once a step"
        return "brainpy.state's LIF always leaks" if spec.decay == 1 else None

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def neuron(self, spec, features):
        import brainunit as u

        options = {
            "tau": -1 / log(spec.decay) * u.ms,
            "V_th": spec.threshold * u.mV,
            "spk_reset": RESETS[spec.reset],
        }
        return lambda currents: spikes_of(currents, spk_fun=surrogate(spec), **options)

    def native(self, features):
        """LIF(tau=5 ms): α = exp(−1/5), input times 1 − α, subtracts θ with gradient, surrogate
        0.3·max(0, 1 − |u|).

        Source: the defaults of `brainpy.state.LIF` and of `braintools.surrogate.ReluGrad`.
        """
        return spikes_of


def spikes_of(currents, **options):
    """Returns the spikes of `LIF` with these options, from rest."""
    import brainpy.state
    import brainstate
    import brainunit as u

    with brainstate.environ.context(dt=1.0 * u.ms):
        lif = brainpy.state.LIF(currents.shape[2:], **options)
        lif.init_state(currents.shape[1])
        return brainstate.transform.for_loop(lambda current: lif(current * u.mA), currents)


def surrogate(spec):
    """Returns σ' of `spec` as brainpy takes it, of the potential's distance in thresholds: its own,
    or a custom one."""
    import braintools
    import jax.numpy as jnp

    if spec.surrogate == "superspike" and spec.threshold == 1:
        return braintools.surrogate.InvSquareGrad(alpha=spec.slope)
    slope_at = derivative(spec, jnp)

    class Own(braintools.surrogate.Surrogate):
        def surrogate_grad(self, x):
            return spec.threshold * slope_at(spec.threshold * x)

    return Own()
