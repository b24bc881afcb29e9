"""Plain JAX, as a user writes it without any framework. The only JAX adapter with potentials.

- `default`: the recurrence under `lax.scan`.
- `checkpointed`: the same in segments of √T steps, which `jax.checkpoint` computes again in
  backward from the state before them and from their currents.
- `associative-scan`: without a reset the recurrence is linear, so that `lax.associative_scan`
  computes all potentials, then the spikes.
"""

from math import isqrt

from snnbench.core.case import Case
from snnbench.kernels.spec import LEARNED, decay_of

from .base.jax_adapter import JaxAdapter
from .base.spikes import jax_spike, reset


class JaxScan(JaxAdapter):
    name = "jax"
    constructions = {
        "default": {"synaptic", "adaptive", "coupled", "learning", "rounding", "resumable"},
        "checkpointed": {"adaptive"},
        "associative-scan": {"rounding"},
    }
    learned_decays = dict.fromkeys(LEARNED, "decay")

    def supports(self, case: Case) -> str | None:
        if case.construction == "associative-scan" and case.spec.reset != "none":
            return "only without a reset is the recurrence linear, as an associative scan needs"
        return None

    def loop(self, construction):
        return in_segments if construction == "checkpointed" else super().loop(construction)

    def step(self, spec, features):
        import jax.numpy as jnp

        fire, rest = firing(spec), at_rest(spec)

        def step(state, current):
            after, (s, _) = fire(state, current)
            return after, s

        def step_with_synapse(state, current):
            i, after = state
            i = spec.current_decay * i + current
            after, (s, _) = fire(after, i)
            return (i, after), s

        if spec.current_decay is None:
            return rest, step
        return lambda current: (jnp.zeros_like(current), rest(current)), step_with_synapse

    def scan(self, spec, features):
        return over_time(spec, lambda s, v: s)

    def neuron(self, spec, features):
        rest, scan = self.scan(spec, features)
        if spec.learned_decay:
            return lambda parameter, currents: scan(rest(currents[0]), currents, parameter)[1]
        return lambda currents: scan(rest(currents[0]), currents)[1]

    def potentials(self, spec, features, construction):
        rest, scan = over_time(spec, lambda s, v: (s, v))
        return lambda currents: scan(rest(currents[0]), currents)[1]

    def lif(self, spec, features, construction):
        import jax
        import jax.numpy as jnp

        if construction == "checkpointed":
            rest, scan = over_time(spec, lambda s, v: s, in_segments)
            return lambda currents: scan(rest(currents[0]), currents)[1]
        if construction != "associative-scan":
            return super().lif(spec, features, construction)

        def joined(first, then):
            """Joins two spans of time steps; a span maps the potential v before it to factor · v +
            sum."""
            return then[0] * first[0], then[0] * first[1] + then[1]

        def spikes(currents):
            factors = jnp.full_like(currents, spec.decay)
            return jax_spike(spec)(jax.lax.associative_scan(joined, (factors, currents))[1])

        return spikes


def in_segments(step, state, xs):
    """As `jax.lax.scan`, but backward runs segments of √T steps again, each from the state before
    it."""
    import jax
    import jax.numpy as jnp

    def run(state, segment):
        return jax.lax.scan(step, state, segment)

    run = jax.checkpoint(run, prevent_cse=False)
    length = max(1, isqrt(len(xs)))
    whole = len(xs) // length * length
    state, ys = jax.lax.scan(run, state, xs[:whole].reshape(-1, length, *xs.shape[1:]))
    state, rest = run(state, xs[whole:])
    return state, jnp.concatenate([ys.reshape(whole, *ys.shape[2:]), rest])


def over_time(spec, output, loop=None):
    """Returns two functions: from one step's currents to the state at rest, and (state, currents,
    parameter of a learned decay) → (final state, `output` of the spikes and of the potentials
    before the reset at every step). The state is the synaptic current, None without a synapse, and
    the state of `firing`. `loop` takes the place of `jax.lax.scan`."""
    import jax
    import jax.numpy as jnp

    def rest(current):
        return None if spec.current_decay is None else jnp.zeros_like(current), at_rest(spec)(
            current
        )

    def scan(state, currents, parameter=None):
        fire = firing(spec, None if parameter is None else decay_of(spec, parameter, jnp))
        i, currents = synaptic(spec, state[0], currents)

        def step(after, current):
            after, both = fire(after, current)
            return after, output(*both)

        after, outputs = (loop or jax.lax.scan)(step, state[1], currents)
        return (i, after), outputs

    return rest, scan


def at_rest(spec):
    """Returns a function from one step's currents to the state at rest of `firing(spec)`."""
    import jax.numpy as jnp

    if spec.adaptation is None:
        return jnp.zeros_like
    return lambda current: (jnp.zeros_like(current), jnp.zeros_like(current))


def firing(spec, decay=None):
    """Returns one step, (state, currents) → (next state, (spikes, potentials before the reset));
    `decay` replaces the specification's. The state is the potential after the last reset and, if
    the neuron adapts, its adaptation."""
    import jax

    spike, decay = jax_spike(spec), spec.decay if decay is None else decay

    def fire(after, current):
        v = decay * after + current
        s = spike(v)
        return reset(spec, v, s, jax.lax.stop_gradient), (s, v)

    def adapt(state, current):
        after, a = state
        v = decay * after + current
        s = spike(v - a)
        after = reset(spec, v, s, jax.lax.stop_gradient, a)
        return (after, spec.adaptation_decay * a + spec.adaptation * s), (s, v)

    def adapt_current(state, current):
        after, a = state
        v = decay * after + current - a
        s = spike(v)
        a = spec.adaptation_decay * a + spec.adaptation * s + spec.adaptation_coupling * v
        return (reset(spec, v, s, jax.lax.stop_gradient), a), (s, v)

    if spec.adaptation is None:
        return fire
    return adapt if spec.threshold_adapts else adapt_current


def synaptic(spec, i, currents):
    """Returns the last synaptic current and those of all steps (T, …), from the one before them and
    the neuron's currents; the currents themselves without a synapse."""
    import jax

    if spec.current_decay is None:
        return i, currents

    def step(i, current):
        i = spec.current_decay * i + current
        return i, i

    return jax.lax.scan(step, i, currents)
