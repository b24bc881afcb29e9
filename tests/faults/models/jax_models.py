"""JAX models on inputs (T, B, 11), right and wrong: a function with its parameters, or nnx."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

FEATURES, HIDDEN = 11, 13
RANDOM = np.random.default_rng(0)
PARAMETERS = {
    "first": jnp.asarray(RANDOM.standard_normal((FEATURES, HIDDEN)), jnp.float32),
    "second": jnp.asarray(RANDOM.standard_normal((HIDDEN, 5)), jnp.float32),
}


@jax.custom_jvp
def spike(u):
    return (u >= 0).astype(u.dtype)


@spike.defjvp
def _(primals, tangents):
    (u,), (du,) = primals, tangents
    return spike(u), du / (1 + (jnp.pi * u) ** 2)


def neurons(currents, fire=spike, keep=lambda v: v):
    def step(v, current):
        v = keep(0.75 * v + current)
        s = fire(v - 1)
        return v - s, s

    return jax.lax.scan(step, jnp.zeros_like(currents[0]), currents)[1]


def layers(parameters, x, **more):
    return neurons(neurons(x @ parameters["first"], **more) @ parameters["second"])


net = (layers, PARAMETERS)
over_items = (lambda p, x: layers(p, x - x.mean(1, keepdims=True)), PARAMETERS)
masked = (lambda p, x: layers(p, x)[2:12], PARAMETERS)
counts_items = (lambda p, x: layers(p, x[: x.shape[1]]), PARAMETERS)
ahead = (lambda p, x: layers(p, x[::-1])[::-1], PARAMETERS)
no_surrogate = (
    lambda p, x: layers(p, x, fire=lambda u: (u >= 0).astype(u.dtype)),
    PARAMETERS,
)
unused = (layers, PARAMETERS | {"third": jnp.ones(3)})


def flax():
    """A module of nnx with the same layers."""
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            rngs = nnx.Rngs(0)
            self.first = nnx.Linear(FEATURES, HIDDEN, rngs=rngs)
            self.second = nnx.Linear(HIDDEN, 5, rngs=rngs)

        def __call__(self, x):
            return neurons(self.second(neurons(4 * self.first(x))))

    return Net()


def keeps():
    """A module that keeps its potentials from call to call."""
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            self.first = nnx.Linear(FEATURES, HIDDEN, rngs=nnx.Rngs(0))
            self.v = nnx.Variable(jnp.zeros((3, HIDDEN)))

        def __call__(self, x):
            currents = 4 * self.first(x)
            y = neurons(currents.at[0].add(self.v[...]))
            self.v[...] = self.v[...] + currents.mean(0)
            return y

    return Net()


def spyx():
    """Two layers of Spyx in a loop over time, after its tutorial."""
    import spyx.nn as snn
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            rngs = nnx.Rngs(0)
            self.first = nnx.Linear(FEATURES, HIDDEN, rngs=rngs)
            self.hidden = snn.LIF((HIDDEN,), beta=0.9, rngs=rngs)
            self.second = nnx.Linear(HIDDEN, 5, rngs=rngs)

        def __call__(self, x):
            v, y = self.hidden.initial_state(x.shape[1]), []
            for step in x:
                s, v = self.hidden(self.first(step), v)
                y.append(self.second(s))
            return jnp.stack(y)

    return Net()


class Transformed(NamedTuple):
    """What Haiku's `transform` and `transform_with_state` return."""

    init: Any
    apply: Any


haiku = Transformed(lambda rng, x: PARAMETERS, lambda params, rng, x: layers(params, x))
haiku_over_items = (
    Transformed(None, lambda params, x: layers(params, x - x.mean(1, keepdims=True))),
    PARAMETERS,
)


def haiku_random():
    """Its spikes are dropped by the key of the call."""

    def apply(params, rng, x):
        return layers(params, x) * jax.random.bernoulli(rng, 0.5, (x.shape[1], 5))

    return Transformed(lambda rng, x: PARAMETERS, apply)


def haiku_state():
    """Its potentials go on in the state that it returns."""

    def apply(params, state, rng, x):
        currents = x @ params["first"]
        y = neurons(neurons(currents.at[0].add(state)) @ params["second"])
        return y, state + currents.mean(0)

    return Transformed(lambda rng, x: (PARAMETERS, jnp.zeros((x.shape[1], HIDDEN))), apply)


class Linen:
    init = apply = staticmethod(lambda *_: None)


apart = Linen()
