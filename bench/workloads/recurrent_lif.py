"""`recurrent-lif`: one layer of a linear and recurrent neurons."""

from ..core.case import Case
from ..core.network import Network
from .builder import Builder
from .workload import workload


@workload("recurrent-lif", axes=("neurons",), small={"time_steps": 37, "batch": 3, "neurons": 97})
def recurrent_lif(case: Case) -> Network:
    """A linear map and neurons, whose spikes go back through weights to the currents of the next
    step."""
    net = Builder(case, (case.neurons,))
    net.linear(case.neurons)
    net.neuron(recurrent=True)
    return net.network
