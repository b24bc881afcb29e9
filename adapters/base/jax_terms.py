"""Times the terms from which `measure.pipeline` predicts more devices, for cases with shared time
steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as Spec

from snnbench.core.case import ABSENT, Case
from snnbench.core.contract import Parameters
from snnbench.core.result import Array

from ..ranks.terms import mean_of, numbers, timed
from .jax_network import JaxNetwork, NodeArrays, Value
from .jax_parts import RANKS
from .jax_program import JaxProgram

ROUNDS = 20
"""Repetitions of a collective operation in one compiled call, so that the start of the call hardly
counts."""


def terms(
    network: JaxNetwork, case: Case, mesh: Mesh, parameters: Parameters, x: Array, upstream: Array
) -> dict[str, Any]:
    """Returns the terms by the names in `snnbench.schema.reported`."""
    alone = JaxProgram(
        network.adapter, replace(case, ranks=ABSENT, parallel=ABSENT), network.network
    )
    alone.load(parameters)
    device_x = alone.put_input(x)
    device_upstream = alone.put_upstream(upstream, alone.forward(device_x))
    state, gradients = (jnp.zeros(count, jnp.float32) for count in numbers(case, network.network))

    def whole() -> None:
        jax.block_until_ready(vars(alone.backward(alone.forward(device_x), device_upstream)))

    def over_and_back(state: Value) -> Value:
        there = jax.lax.ppermute(state, RANKS, [(0, 1)])
        return jax.lax.ppermute(there, RANKS, [(1, 0)])

    neurons = network.network.neurons
    return {
        "whole": timed(whole),
        "neurons": mean_of(
            [timed(_neuron(network, name, alone.parameters.get(name, {}))) for name in neurons]
        ),
        "handover": _together(mesh, over_and_back, state),
        "reduction": _together(mesh, lambda sums: jax.lax.psum(sums, RANKS), gradients),
        "layers": len(neurons),
        "state_bytes": state.nbytes,
        "gradient_bytes": gradients.nbytes,
    }


def _neuron(network: JaxNetwork, name: str, arrays: NodeArrays) -> Callable[[], object]:
    rest, scan = network.handed(network.network.node(name))
    shape = network.case.time_steps, network.case.batch, *network.network.shapes[name]
    currents, upstream = (
        jax.random.normal(jax.random.key(seed), shape, network.dtype) for seed in range(2)
    )

    def both(currents: Value, upstream: Value) -> tuple[Value, Any]:
        spikes, pullback = jax.vjp(
            lambda currents: scan(arrays, rest(currents[0]), currents)[1], currents
        )
        return spikes, pullback(upstream)

    call = jax.jit(both)
    return lambda: jax.block_until_ready(call(currents, upstream))


def _together(mesh: Mesh, work: Callable[[Value], Value], value: Value) -> list[float]:
    """Returns the quartiles of the seconds of `work`, which all devices do together."""

    def rounds(value: Value) -> Value:
        return jax.lax.fori_loop(0, ROUNDS, lambda _, value: work(value), value)

    call = jax.jit(
        jax.shard_map(rounds, mesh=mesh, in_specs=Spec(), out_specs=Spec(), check_vma=False)
    )
    return [seconds / ROUNDS for seconds in timed(lambda: jax.block_until_ready(call(value)))]
