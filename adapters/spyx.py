"""Spyx (https://spyx.readthedocs.io), its decay a constant unless it is learned.

- `default`: `PSU_LIF`, step by step under `spyx.nn.run`. It never resets; for `soft` and `hard` the
  reset is applied here to the potential that it returns.
- `psu-parallel`: `PSU_LIF.parallel`, all steps at once by an associative scan, no reset.
- `lif`: `nn.LIF`. It fires on the potential of the step before and then subtracts:
  `soft-undecayed`, its spikes one step late. It gets one extra step without current, and its first
  output is dropped.
- `alif`: `nn.ALIF`, `lif` with an adaptive threshold, to which a spike adds exactly 1 −
  adaptation_decay.
- `cuba-lif`: `nn.CuBaLIF`, a synaptic current, its spikes one step late too; it subtracts before
  the decay, as `soft`.
"""

from math import isclose, prod
from types import MappingProxyType

from snnbench.core.case import Case
from snnbench.kernels.surrogates import derivative

from .base.jax_adapter import JaxAdapter
from .base.spikes import reset

RESETS = {
    "default": ("soft", "hard", "none"),
    "psu-parallel": ("none",),
    "lif": ("soft-undecayed",),
    "alif": ("soft-undecayed",),
    "cuba-lif": ("soft",),
}

LATE = ("lif", "alif", "cuba-lif")


class Spyx(JaxAdapter):
    name = "spyx"
    requires = ("jax", "spyx")
    constructions = {
        "default": {"learning"},
        "psu-parallel": set(),
        "lif": set(),
        "alif": {"adaptive"},
        "cuba-lif": {"synaptic"},
    }
    learned_decays = MappingProxyType({"direct": "beta"})

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset not in RESETS[case.construction]:
            return {
                "default": f"offered here without the reset {spec.reset!r}",
                "psu-parallel": "PSU_LIF never resets",
                "lif": "nn.LIF only has the reset soft-undecayed",
                "alif": "nn.ALIF only has the reset soft-undecayed",
                "cuba-lif": "nn.CuBaLIF only has the reset soft",
            }[case.construction]
        if case.construction in LATE and spec.detach_reset:
            return "its own reset is never detached"
        if case.construction == "alif" and spec.adaptation is None:
            return "nn.ALIF always has an adaptive threshold"
        if spec.adaptation is not None and not isclose(
            spec.adaptation + (spec.adaptation_decay or 0), 1
        ):
            return "a spike of nn.ALIF adds 1 − adaptation_decay to the threshold, and nothing else"
        if case.construction == "cuba-lif" and spec.current_decay is None:
            return "nn.CuBaLIF always has a synaptic current"
        if spec.max_spikes > 1:
            return "Spyx's neurons fire once a step"
        return None

    def refuses(self, case, network):
        if case.construction != "default" and network.has_neuron("recurrent"):
            return f"no recurrent linear fits into the loop of {case.construction}"
        return super().refuses(case, network)

    def neuron(self, spec, features):
        import jax
        import spyx
        from flax import nnx

        class Step:
            def __init__(self, lif):
                self.lif, self.initial_state = lif, lif.initial_state

            def __call__(self, current, v):
                s, v = self.lif(current, v)
                return s, reset(spec, v, s, jax.lax.stop_gradient)

        def learning(parameter, currents):
            lif = made(spyx.nn.PSU_LIF, spec, features)
            lif.beta = nnx.Param(parameter)
            return spyx.nn.run(Step(lif), currents)[0]

        if spec.learned_decay:
            return learning
        lif = made(spyx.nn.PSU_LIF, spec, features)
        return lambda currents: spyx.nn.run(Step(lif), currents)[0]

    def step(self, spec, features):
        import jax
        import jax.numpy as jnp
        import spyx

        lif = made(spyx.nn.PSU_LIF, spec, features)

        def step(v, current):
            s, v = lif(current, v)
            return reset(spec, v, s, jax.lax.stop_gradient), s

        return jnp.zeros_like, step

    def lif(self, spec, features, construction):
        import jax.numpy as jnp
        import spyx

        if construction == "psu-parallel":
            return made(spyx.nn.PSU_LIF, spec, features).parallel
        if construction in LATE:
            kind, options = {
                "lif": (spyx.nn.LIF, {}),
                "alif": (spyx.nn.ALIF, {"gamma": spec.adaptation_decay}),
                "cuba-lif": (spyx.nn.CuBaLIF, {"alpha": spec.current_decay}),
            }[construction]
            flat = (prod(features),)  # the last two keep two states in one row
            lif = made(kind, spec, flat, **options)

            def spikes(currents):
                rows = currents.reshape(*currents.shape[:2], -1)
                late = spyx.nn.run(lif, jnp.concatenate([rows, jnp.zeros_like(rows[:1])]))[0]
                return late[1:].reshape(currents.shape)

            return spikes
        return self.neuron(spec, features)

    def native(self, features):
        """nn.LIF(triangular): β by neuron about 0.5, subtracts θ undecayed, spikes one step late,
        surrogate triangular.

        Source: Spyx's tutorial "Your first SNN" (docs/tutorials/first-snn.md) and the defaults of
        `spyx.nn.LIF`. Its β, drawn with seed 0 here, is trained in the tutorial and a constant
        here.
        """
        import spyx
        from flax import nnx

        lif = spyx.nn.LIF(features, activation=spyx.axn.triangular(), rngs=nnx.Rngs(0))
        return lambda currents: spyx.nn.run(lif, currents)[0]


def made(kind, spec, features, **more):
    """Returns a neuron with Spyx's surrogate for σ' of `spec`, or a custom one where it has
    none."""
    import jax.numpy as jnp
    import spyx
    from flax import nnx

    surrogates = {
        "superspike": lambda: spyx.axn.superspike(k=spec.slope),
        "triangle": lambda: spyx.axn.triangular(k=spec.slope),
        "rectangle": lambda: spyx.axn.boxcar(width=1 / spec.slope, height=spec.slope),
    }
    spike = (
        surrogates[spec.surrogate]()
        if spec.surrogate in surrogates
        else spyx.axn.custom(derivative(spec, jnp))
    )
    return kind(
        features,
        beta=spec.decay,
        threshold=spec.threshold,
        activation=spike,
        rngs=nnx.Rngs(0),
        **more,
    )
