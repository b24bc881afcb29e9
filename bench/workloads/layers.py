"""Layers: `linear-lif`, `lif`, `conv-lif` and `recurrent-lif`."""

from dataclasses import replace

from ..core.case import ABSENT, Case
from ..core.network import INPUT, Network, Node
from .base import workload
from .builder import Builder


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
    """Returns the neuron of `case` behind one linear, at the small odd sizes in fp32: the case that
    proves the neuron of a network. It has no loss and no optimizer, which belong to the network."""
    absent = dict.fromkeys(("loss", "optimizer", "network"), ABSENT)
    layer = replace(case, workload=linear_lif.name, layers=1, bias=True, precision="fp32", **absent)
    return linear_lif.small_case(layer)


@workload(
    "lif",
    axes=("neurons",),
    fixed={"layers": 1, "bias": False, "input_grad": True},
    small={"time_steps": 37, "batch": 3, "neurons": 97},
)
def lif(case: Case) -> Network:
    """Leaky integrate-and-fire neurons alone; their currents are the input. The only gradient is
    that of the input."""
    return Network((case.neurons,), (Node("neuron1", "neuron", (INPUT,), {"neuron": case.neuron}),))


@workload(
    "conv-lif",
    axes=("width", "image"),
    small={"time_steps": 11, "batch": 3, "width": 5, "image": 13},
)
def conv_lif(case: Case) -> Network:
    """A convolution of 3 × 3 that keeps the number of channels, and leaky integrate-and-fire
    neurons."""
    net = Builder(case, (case.width, case.image, case.image))
    net.conv(case.width, bias=True)
    net.neuron()
    return net.network


@workload("recurrent-lif", axes=("neurons",), small={"time_steps": 37, "batch": 3, "neurons": 97})
def recurrent_lif(case: Case) -> Network:
    """A linear map and neurons; their spikes go back through weights to the currents of the next
    step."""
    net = Builder(case, (case.neurons,))
    net.linear(case.neurons)
    net.neuron(recurrent=True)
    return net.network
