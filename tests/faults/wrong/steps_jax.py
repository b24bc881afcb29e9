"""Adapters in JAX with a right network and a wrong training step. Every class says what is wrong
with it."""

import jax.numpy as jnp

from snnbench.adapters.base.jax_program import JaxProgram
from snnbench.adapters.base.jax_training import Updates
from snnbench.adapters.jax_scan import JaxScan


class Updating(JaxScan):
    """The right network with the updates of `kind`."""

    kind = Updates

    def program(self, case, network):
        program = JaxProgram(self, case, network)
        program.updates.__class__ = self.kind
        return program


class DecayingUpdates(Updates):
    def update(self, parameters, states, gradients):
        moved, after = super().update(parameters, states, gradients)
        shares = {
            node: {name: p - 1e-7 * parameters[node][name] for name, p in named.items()}
            for node, named in moved.items()
        }
        return shares, after


class AmsgradUpdates(Updates):
    def update(self, parameters, states, gradients):
        largest = states["second"]
        moved, after = super().update(parameters, states, gradients)
        after["second"] = {
            node: {name: jnp.maximum(v, largest[node][name]) for name, v in named.items()}
            for node, named in after["second"].items()
        }
        return moved, after


class AdamW(Updating):
    """Takes 1e-4 of every weight away, beside the gradient."""

    name = "wrong-adamw-in-jax"
    kind = DecayingUpdates


class Amsgrad(Updating):
    """Keeps the largest of the second states so far."""

    name = "wrong-amsgrad-in-jax"
    kind = AmsgradUpdates
