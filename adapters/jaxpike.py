"""jaxpike (https://pypi.org/project/jaxpike): its neurons under its own loops over time. They
multiply their input by 1 − α.

- `default`: `LIF` under `unroll`, one `lax.scan` over the steps.
- `checkpointed`: `LIF` under `unroll_checkpointed`; backward recomputes chunks of about √T steps.
- `parallel`: `LinearLIF`, which never resets, under `unroll_parallel`, an associative scan.
"""

from snnbench.core.case import Case

from .base.jax_adapter import JaxAdapter

SLOPES = {"triangle": (1,), "atan": (1,)}
"""The only slopes of surrogates whose height in jaxpike grows with their slope."""
SURROGATES = ("superspike", "atan", "triangle", "rectangle")


class Jaxpike(JaxAdapter):
    name = "jaxpike"
    requires = ("jax", "jaxpike")
    constructions = {"default": set(), "checkpointed": set(), "parallel": set()}

    def supports(self, case: Case) -> str | None:
        spec, parallel = case.spec, case.construction == "parallel"
        if parallel and spec.reset != "none":
            return "LinearLIF never resets"
        if not parallel and (spec.reset not in ("soft", "hard") or spec.detach_reset):
            return "LIF subtracts or resets to zero, never detached"
        if spec.surrogate not in SURROGATES or spec.slope not in SLOPES.get(
            spec.surrogate, (spec.slope,)
        ):
            return (
                f"has no surrogate {spec.surrogate} of slope {spec.slope:g}: FastSigmoid, ATan "
                "of alpha 2, Triangular of width 1, Boxcar"
            )
        if spec.max_spikes > 1:
            return "jaxpike's neurons fire once a step"
        return "jaxpike's neurons always leak" if spec.decay == 1 else None

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def lif(self, spec, features, construction):
        from math import log

        import jaxpike

        surrogate = {
            "superspike": lambda: jaxpike.FastSigmoid(slope=spec.slope),
            "atan": lambda: jaxpike.ATan(alpha=2.0),
            "triangle": lambda: jaxpike.Triangular(width=1.0),
            "rectangle": lambda: jaxpike.Boxcar(width=1 / spec.slope),
        }[spec.surrogate]()
        tau, alike = (
            -1 / log(spec.decay),
            {"threshold": float(spec.threshold), "surrogate": surrogate},
        )
        if construction == "parallel":
            neuron, run = jaxpike.LinearLIF(tau, **alike), jaxpike.unroll_parallel
        else:
            neuron = jaxpike.LIF(tau, reset="zero" if spec.reset == "hard" else "subtract", **alike)
            run = jaxpike.unroll if construction == "default" else jaxpike.unroll_checkpointed
        return lambda currents: run(neuron, currents)[0]

    def native(self, features):
        """LIF(tau=20, FastSigmoid()): α = exp(−1/20), input times 1 − α, subtracts θ with gradient,
        surrogate of slope 25.

        Source: jaxpike's README and the defaults of `jaxpike.LIF`. Its time constant, which it lets
        be trained, is a constant here.
        """
        import jaxpike

        neuron = jaxpike.LIF()
        return lambda currents: jaxpike.unroll(neuron, currents)[0]
