"""The network of configs/own-network.toml: 64 inputs, 48 and 10 neurons of two kinds."""

from snnbench.adapters import Network, NeuronSpec, Node


def two_layers() -> Network:
    slow, fast = NeuronSpec(decay=0.9375), NeuronSpec(decay=0.75)
    return Network(
        (64,),
        (
            Node("linear1", "linear", ("input",), {"outputs": 48}),
            Node("neuron1", "neuron", ("linear1",), {"neuron": slow}),
            Node("linear2", "linear", ("neuron1",), {"outputs": 10}),
            Node("neuron2", "neuron", ("linear2",), {"neuron": fast}),
        ),
    )
