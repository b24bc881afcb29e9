"""`linear-lif`: layers of a linear and a neuron, all of one width."""

from dataclasses import replace

from ..core.case import ABSENT, Case
from ..core.network import INPUT, Network, Node
from .workload import workload


@workload(
    "linear-lif",
    axes=("layers", "neurons", "bias"),
    small={"time_steps": 37, "batch": 3, "neurons": 97},
)
def linear_lif(case: Case) -> Network:
    """Layers of a linear map and leaky integrate-and-fire neurons, all of one width."""
    nodes, before = [], INPUT
    for layer in range(1, case.layers + 1):
        linear = Node(
            f"linear{layer}", "linear", (before,), {"outputs": case.neurons, "bias": case.bias}
        )
        neuron = Node(f"neuron{layer}", "neuron", (linear.name,), {"neuron": case.neuron})
        nodes += [linear, neuron]
        before = neuron.name
    return Network((case.neurons,), tuple(nodes))


def one_layer(case: Case) -> Case:
    """The neuron of `case` behind one linear, at the small odd sizes in fp32: what proves the
    neuron of a network. Without loss and optimizer, which are the network's."""
    absent = dict.fromkeys(("loss", "optimizer", "network"), ABSENT)
    layer = replace(case, workload=linear_lif.name, layers=1, bias=True, precision="fp32", **absent)
    return linear_lif.small_case(layer)
