"""slax (https://pypi.org/project/slax), on Flax's linen: `LIF` under its own `RNN`. Its decay is
the sigmoid of `init_tau`.

- `default`: `RNN(lif, unroll=1)`, a scan over the steps.
- `unrolled`: `RNN(lif)`, slax's default: the scan fully unrolled, which XLA compiles slowly.

`init` returns the state after a first step, so the state at rest is made here, of zeros.
"""

from math import log

from snnbench.core.case import Case

from .base.jax_adapter import JaxAdapter


class Slax(JaxAdapter):
    name = "slax"
    requires = ("jax", "slax")
    constructions = {"default": set(), "unrolled": set()}

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset not in ("soft", "hard") or spec.detach_reset:
            return "LIF subtracts or resets to zero, never detached"
        if spec.surrogate not in ("superspike", "atan") or (
            spec.surrogate == "atan" and spec.slope != 1
        ):
            return (
                f"has no surrogate {spec.surrogate} of slope {spec.slope:g}: fast_sigmoid, atan of "
                "1, for its height is its slope"
            )
        if spec.max_spikes > 1:
            return "slax's LIF fires once a step"
        return "slax's LIF always leaks" if spec.decay == 1 else None

    def lif(self, spec, features, construction):
        import slax

        spike = slax.fast_sigmoid(spec.slope) if spec.surrogate == "superspike" else slax.atan()
        lif = slax.LIF(
            init_tau=-log(1 / spec.decay - 1),
            spike_fn=spike,
            v_threshold=spec.threshold,
            subtraction_reset=spec.reset == "soft",
        )
        return spikes_of(slax.RNN(lif) if construction == "unrolled" else slax.RNN(lif, unroll=1))

    def native(self, features):
        """LIF(init_tau=2): β = σ(2) = 0.88, subtracts θ with gradient, surrogate superspike of
        slope 25.

        Source: the defaults of `slax.LIF` and `slax.fast_sigmoid`.
        """
        import slax

        return spikes_of(slax.RNN(slax.LIF(), unroll=1))


def spikes_of(model):
    """Returns the function from currents (T, B, *features) to the spikes of a model with states,
    from rest."""
    import jax
    import jax.numpy as jnp

    def spikes(currents):
        shapes = jax.eval_shape(model.init, jax.random.PRNGKey(0), currents)
        rest = jax.tree.map(lambda state: jnp.zeros(state.shape, state.dtype), shapes)
        return model.apply(rest, currents, mutable=["carry"])[0]

    return spikes
