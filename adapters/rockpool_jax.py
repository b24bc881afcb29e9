"""Rockpool's `LIFJax` (https://rockpool.ai): `lax.scan` over time under `vmap` over the batch,
batch first.

As shipped it multiplies by an N × N matrix of zero recurrent weights at every step and adds noise
of strength 0. Its synapse is switched off as in `rockpool:lif-torch`. It has no argument for a
surrogate: `step_pwl` of its module is replaced while the network is traced.
"""

import math
from importlib import import_module
from unittest.mock import patch

from snnbench.core.case import Case

from .base.jax_adapter import JaxAdapter
from .base.spikes import jax_spike

SYNAPSE_OFF = -44
"""Exponent of two of the synaptic decay. Rockpool computes exp(−1/τ) in float32, which is exact for
this one; most others are off by 1e-6."""


MODULE = "rockpool.nn.modules.jax.lif_jax"
"""The module where `LIFJax` looks up its surrogate."""


class RockpoolJax(JaxAdapter):
    name = "rockpool-jax"
    requires = ("jax", "rockpool.nn.modules")
    distribution = "rockpool"

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset != "soft" or spec.detach_reset:
            return "Rockpool's neurons only subtract, with gradient"
        if spec.decay == 1:
            return "LIFJax always leaks"
        if case.precision == "fp16":
            return (
                "switching LIFJax's synapse off takes currents 2⁴⁴ times as large, which fp16 "
                "cannot hold"
            )
        return None

    def current_scale(self, spec) -> float:
        return 2.0**-SYNAPSE_OFF

    def neuron(self, spec, features):
        import jax.numpy as jnp
        from rockpool.nn.modules import LIFJax

        spike = jax_spike(spec)
        lif = LIFJax(
            math.prod(features),
            tau_mem=jnp.array(-1 / math.log(spec.decay)),
            tau_syn=jnp.array(-1 / (SYNAPSE_OFF * math.log(2))),
            threshold=jnp.array(float(spec.threshold)),
            bias=jnp.array(0.0),
            dt=1.0,
        )

        def spikes(currents):
            # `spike` counts by itself, as the specification says.
            with patch.object(import_module(MODULE), "step_pwl", lambda v, *_: spike(v)):
                flat = currents.reshape(*currents.shape[:2], -1).swapaxes(0, 1)
                return lif(flat)[0].swapaxes(0, 1).reshape(currents.shape)

        return spikes
