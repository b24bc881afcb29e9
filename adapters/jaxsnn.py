"""jaxsnn (https://github.com/electronicvisions/jaxsnn): its neuron in discrete time,
`jaxsnn.discrete`, under `lax.scan`.

`lif_step` is an Euler step with a synaptic current that drives the potential one step later: it
gets one extra step without current, and its first output is dropped. The current decays by 1 −
dt/τ_syn; without a synapse dt/τ_syn = 1 forgets it within a step. Its reset is hard and attached,
`{ reset = "hard", detach_reset = false }`; the input is multiplied by dt/τ_mem = 1 − decay. The
scan is written here after that of `Topology`, which takes neither batches nor given currents.

The neurons that jaxsnn is known for, those of `jaxsnn.event`, have no steps: spikes at exact times,
with exact gradients.
"""

from snnbench.core.case import Case
from snnbench.core.network import Network

from .base.jax_adapter import JaxAdapter

HALF = (
    "jaxsnn's spike is one half where a potential is just the threshold, as they are now and then "
    "in bf16 and fp16"
)


class Jaxsnn(JaxAdapter):
    name = "jaxsnn"
    requires = ("jax", "jaxsnn.discrete.functional")
    distribution = "jaxsnn"
    constructions = {"default": {"synaptic"}}

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset != "hard" or spec.detach_reset:
            return (
                "jaxsnn's LIF with steps only resets to zero, with gradient; its others have exact "
                "times and gradients"
            )
        if spec.surrogate != "superspike":
            return f"has no surrogate {spec.surrogate}, only superspike"
        if spec.max_spikes > 1:
            return "jaxsnn's LIF fires once a step"
        return "jaxsnn's LIF always leaks" if spec.decay == 1 else None

    def refuses(self, case: Case, network: Network) -> str | None:
        return super().refuses(case, network) or (
            HALF if case.precision in ("bf16", "fp16") else None
        )

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def neuron(self, spec, features):
        import jax.numpy as jnp
        from jaxsnn.discrete.functional import LIFParameters
        from jaxsnn.discrete.functional.threshold import superspike

        parameters = LIFParameters(
            tau_mem=1 / (1 - spec.decay),
            tau_syn=1 / (1 - (spec.current_decay or 0)),
            v_th=spec.threshold,
        )
        run = runs(parameters, lambda u: superspike(u, spec.slope), 1.0)
        return lambda currents: run(jnp.concatenate([currents, jnp.zeros_like(currents[:1])]))[1:]

    def native(self, features):
        """LIF(): synapse of 5 ms and membrane of 10 ms at steps of 1 ms, θ = 0.6, to zero with
        gradient, superspike of slope 80.

        Source: the defaults of `LIFParameters`, `lif_step` and `superspike` in
        `jaxsnn.discrete.functional`.
        """
        from jaxsnn.discrete.functional import LIFParameters
        from jaxsnn.discrete.functional.threshold import superspike

        return runs(LIFParameters(), superspike, 0.001)


def runs(parameters, method, dt):
    """Returns the function from currents (T, B, *features) to spikes, from rest; the spikes of a
    step depend on the steps before."""
    import jax
    import jax.numpy as jnp
    from jaxsnn.discrete.functional import LIFState, lif_step

    constants = {
        "v_leak": 0.0,
        "v_th": parameters.v_th,
        "v_reset": 0.0,
        "tau_mem": parameters.tau_mem,
        "tau_syn": parameters.tau_syn,
    }

    def step(state, current):
        return lif_step({"input": current}, state, None, method, **constants, dt=dt)

    def spikes(currents):
        rest = jnp.zeros_like(currents[0])
        return jax.lax.scan(step, LIFState(rest, rest), currents)[1]

    return spikes
