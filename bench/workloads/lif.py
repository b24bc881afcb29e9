"""`lif`: the neuron alone, on given currents."""

from ..core.case import Case
from ..core.network import INPUT, Network, Node
from .workload import workload


@workload(
    "lif",
    axes=("neurons",),
    fixed={"layers": 1, "bias": False, "input_grad": True},
    small={"time_steps": 37, "batch": 3, "neurons": 97},
)
def lif(case: Case) -> Network:
    """Leaky integrate-and-fire neurons alone, whose currents are the input. The only gradient is
    that of the input."""
    return Network((case.neurons,), (Node("neuron1", "neuron", (INPUT,), {"neuron": case.neuron}),))
