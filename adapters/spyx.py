"""Spyx's `PSU_LIF` step under `spyx.nn.run` (https://spyx.readthedocs.io).

`PSU_LIF` never resets; for `soft` and `hard` the reset is applied here to the potential that it hands out. (Spyx's
`nn.LIF` is another neuron, `soft-undecayed`, and gives its spikes one step late.)
"""

from .base import Case
from .jax_adapter import JaxAdapter


class Spyx(JaxAdapter):
    name = "spyx"
    requires = ("jax", "spyx")

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset not in ("soft", "hard", "none"):
            return f"offered here without the reset {spec.reset!r}"
        if spec.surrogate != "superspike" or spec.max_spikes > 1:
            return "offered here with the surrogate superspike, one spike a step"
        return None

    def neuron(self, spec, features):
        import jax
        import spyx
        from flax import nnx

        lif = spyx.nn.PSU_LIF(
            features,
            beta=spec.decay,
            threshold=spec.threshold,
            activation=spyx.axn.superspike(k=spec.slope),
            rngs=nnx.Rngs(0),
        )

        class Step:
            def initial_state(self, batch):
                return lif.initial_state(batch)

            def __call__(self, current, v):
                s, v = lif(current, v)
                held = jax.lax.stop_gradient(s) if spec.detach_reset else s
                return s, {"soft": v - spec.threshold * held, "hard": v * (1 - held), "none": v}[spec.reset]

        return lambda currents: spyx.nn.run(Step(), currents)[0]

    def native(self, features):
        """nn.LIF(triangular): β by neuron about 0.5, subtracts θ undecayed, spikes one step late, surrogate triangular.

        Source: Spyx's tutorial "Your first SNN" (docs/tutorials/first-snn.md) and the defaults of `spyx.nn.LIF`. Its β, drawn
        with seed 0 here, is trained in the tutorial and a constant here.
        """
        import spyx
        from flax import nnx

        lif = spyx.nn.LIF(features, activation=spyx.axn.triangular(), rngs=nnx.Rngs(0))
        return lambda currents: spyx.nn.run(lif, currents)[0]
