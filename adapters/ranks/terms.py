"""Times the terms from which `measure.pipeline` predicts more ranks, of torch ranks and JAX
devices. torch is imported late: JAX times with this file too."""

import resource
from collections.abc import Callable
from dataclasses import replace
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from snnbench.core.case import ABSENT, Case
from snnbench.core.contract import Adapter, Parameters
from snnbench.core.network import Network
from snnbench.core.sharded import Array

FEWEST_CALLS, LONGEST_S = 5, 1.0
"""Calls of a term, and seconds after which there are no more."""
CALLS = 15


def timed(call: Callable[[], object]) -> list[float]:
    """Returns the quartiles of the seconds of a call, without the first one."""
    call()
    seconds: list[float] = []
    while len(seconds) < FEWEST_CALLS or (len(seconds) < CALLS and sum(seconds) < LONGEST_S):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return quartiles(seconds)


def quartiles(seconds: list[float]) -> list[float]:
    return [float(value) for value in np.quantile(seconds, [0.25, 0.5, 0.75])]


def mean_of(neurons: list[list[float]]) -> list[float]:
    """Returns the quartiles of the seconds of one layer's neurons, from those of all layers."""
    return [sum(ends) / len(neurons) for ends in zip(*neurons, strict=True)]


def numbers(case: Case, network: Network) -> tuple[int, int]:
    """Returns the number of values in a state of a layer's mean size, and in the gradients of all
    parameters."""
    layers = [prod(network.shapes[name]) for name in network.neurons]
    gradients = sum(
        prod(shape) for named in network.parameters.values() for shape in named.values()
    )
    return case.batch * sum(layers) // len(layers), gradients


def alone(
    adapter: Adapter,
    case: Case,
    network: Network,
    parameters: Parameters,
    x: Array,
    upstream: Array,
) -> dict[str, Any]:
    """Returns the terms of one rank: seconds of a whole forward and backward of all time steps, and
    of one layer's neurons alone."""
    one_rank = replace(case, ranks=ABSENT)
    program: Any = adapter.program(one_rank, network)
    program.load(parameters)
    device_x = program.put_input(x)
    device_upstream = program.put_upstream(upstream, program.forward(device_x))

    def whole() -> None:
        program.release()
        program.backward(program.forward(device_x), device_upstream)

    neurons = [timed(_neuron(adapter, one_rank, network, name)) for name in network.neurons]
    return {"whole": timed(whole), "neurons": mean_of(neurons)}


def _neuron(adapter: Adapter, case: Case, network: Network, name: str) -> Callable[[], None]:
    import torch

    features = network.shapes[name]
    neuron = adapter.neuron_of(case, network.node(name), features)
    currents = torch.randn(case.time_steps, case.batch, *features, requires_grad=True)
    upstream = torch.randn(case.time_steps, case.batch, *features)

    def call() -> None:
        currents.grad = None
        neuron(currents).backward(upstream)

    return call


def between(rank: int, case: Case, network: Network) -> dict[str, Any]:
    """Returns the terms of several ranks, all of which call this: a state of a layer's mean size
    from rank 0 to 1 and its gradient back, and the sum of all parameters' gradients."""
    import torch
    import torch.distributed as dist

    state, gradients = (torch.zeros(count) for count in numbers(case, network))

    def over_and_back() -> None:
        if rank == 0:
            dist.send(state, 1)
            dist.recv(state, 1)
        elif rank == 1:
            dist.recv(state, 0)
            dist.send(state, 0)

    terms: dict[str, Any] = {"state_bytes": state.nbytes, "gradient_bytes": gradients.nbytes}
    for name, call in (
        ("handover", over_and_back),
        ("reduction", lambda: dist.all_reduce(gradients)),
    ):
        seconds = []
        for _ in range(CALLS + 1):
            dist.barrier()
            start = perf_counter()
            call()
            seconds.append(perf_counter() - start)
        terms[name] = quartiles(seconds[1:])
    return terms


def peak_bytes() -> int:
    """Returns the peak memory of this process, imports included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
