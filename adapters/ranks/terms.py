"""What ranks are told of themselves outside the clock: where they run, what they use, and the terms
from which `measure.pipeline` predicts more of them."""

import resource
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist

from snnbench.core.case import ABSENT, Case
from snnbench.core.contract import Adapter, Parameters
from snnbench.core.network import Network
from snnbench.core.sharded import Array

from .timed import CALLS, mean_of, numbers, quartiles, timed


def alone(
    adapter: Adapter,
    case: Case,
    network: Network,
    parameters: Parameters,
    x: Array,
    upstream: Array,
) -> dict[str, Any]:
    """The terms of one rank: seconds of a whole forward and backward of all time steps, and of one
    layer's neurons alone."""
    own = replace(case, ranks=ABSENT)
    program: Any = adapter.program(own, network)
    program.load(parameters)
    given = program.put_input(x)
    back = program.put_upstream(upstream, program.forward(given))

    def whole() -> None:
        program.release()
        program.backward(program.forward(given), back)

    neurons = [timed(_neuron(adapter, own, network, name)) for name in network.neurons]
    return {"whole": timed(whole), "neurons": mean_of(neurons)}


def _neuron(adapter: Adapter, case: Case, network: Network, name: str) -> Callable[[], None]:
    """A forward and a backward of a neuron's own part of a layer."""
    features = network.shapes[name]
    neuron = adapter.neuron_of(case, network.node(name), features)
    currents = torch.randn(case.time_steps, case.batch, *features, requires_grad=True)
    upstream = torch.randn(case.time_steps, case.batch, *features)

    def call() -> None:
        currents.grad = None
        neuron(currents).backward(upstream)

    return call


def between(rank: int, case: Case, network: Network) -> dict[str, Any]:
    """The terms of several ranks, all of which call this: a state of a layer's mean size from rank
    0 to 1 and its gradient back, and the sum of all parameters' gradients."""
    state, gradients = (torch.zeros(count) for count in numbers(case, network))

    def over_and_back() -> None:
        if rank == 0:
            dist.send(state, 1)
            dist.recv(state, 1)
        elif rank == 1:
            dist.recv(state, 0)
            dist.send(state, 0)

    found: dict[str, Any] = {"state_bytes": state.nbytes, "gradient_bytes": gradients.nbytes}
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
        found[name] = quartiles(seconds[1:])
    return found


def peak_bytes() -> int:
    """The most memory that this process has had, with all that it imported."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
