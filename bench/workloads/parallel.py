"""Parallel spiking neurons: `psn`, `masked-psn` and `sliding-psn` (Fang et al., NeurIPS 2023).

Such a neuron computes its potentials at all steps at once, as a linear over time without a memory
of its own: with the neuron `{ reset = "none", decay = 0.0 }` these workloads are the paper's
networks of sequences without their convolutions. A `psn` sees later steps, the others the last 32,
as published. Another neuron stands behind the mix with its memory.
"""

from ..core.case import Case
from ..core.network import Network
from .base import workload
from .builder import Builder

ORDER = 32
AXES = ("layers", "neurons")
SMALL = {"time_steps": 37, "batch": 3, "neurons": 31}


@workload("psn", axes=AXES, small=SMALL)
def psn(case: Case) -> Network:
    """Layers of a linear map, a linear over time that sees later steps, and neurons."""
    return _parallel(case, None)


@workload("masked-psn", axes=AXES, small=SMALL)
def masked_psn(case: Case) -> Network:
    """Layers of a linear map, a linear over the last 32 steps, another at each step, and
    neurons."""
    return _parallel(case, ORDER)


@workload("sliding-psn", axes=AXES, small=SMALL)
def sliding_psn(case: Case) -> Network:
    """Layers of a linear map, a convolution over the last 32 steps, and neurons."""
    return _parallel(case, ORDER, sliding=True)


def _parallel(case: Case, order: int | None, sliding: bool = False) -> Network:
    net = Builder(case, (case.neurons,))
    for _ in range(case.layers):
        net.linear(case.neurons, bias=False)
        net.mix_time(case.time_steps, order, sliding)
        net.neuron()
    return net.network
