"""Training steps of (net, x, labels), right and wrong, and the networks that they train."""

import torch
from complaints import Net, NoReset
from torch import nn


def train(net, x, labels, parameters=None):
    optimizer = torch.optim.SGD(parameters or net.parameters(), lr=0.1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x).mean(0), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def half(net, x, labels):
    """The optimizer has the first layer only."""
    return train(net, x, labels, net.fc1.parameters())


def resets(net, x, labels):
    net.lif1.clear()
    net.lif2.clear()
    return train(net, x, labels)


def detaches(net, x, labels):
    """States go on from batch to batch."""
    for lif in (net.lif1, net.lif2):
        if lif.membrane is not None:
            lif.membrane = lif.membrane.detach()
    return train(net, x, labels)


def truncated(net, x, labels):
    """Truncated backpropagation through time: a backward and an update every four steps."""
    lifs = (net.lif1, net.lif2)
    for lif in lifs:
        lif.clear()
    for chunk in x.split(4):
        train(net, chunk, labels)
        for lif in lifs:
            lif.membrane = lif.membrane.detach()


def chunks(net, x, labels):
    """The same for layers of SpikingJelly that take all steps of a chunk at once."""
    from spikingjelly.activation_based import functional

    functional.reset_net(net)
    for chunk in x.split(4):
        train(net, chunk, labels)
        functional.detach_net(net)


def jelly():
    from spikingjelly.activation_based import neuron

    class Layers(Net):
        def neuron(self):
            return neuron.LIFNode(step_mode="m")

        def forward(self, x):
            return self.step(x)

    return Layers()


LOSSES = []


def remembers(net, x, labels):
    """Losses are kept with their graphs, for a mean at the end of the epoch."""
    loss = nn.functional.cross_entropy(net(x).mean(0), labels)
    LOSSES.append(loss)
    return train(net, x, labels)


def zeroed(net, x, labels):
    """Gradients are dropped between backward and the update."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    nn.functional.cross_entropy(net(x).mean(0), labels).backward()
    optimizer.zero_grad()
    optimizer.step()


def raises(net, x):
    raise ValueError("no such step")


net, kept = Net(), NoReset()
quiet = Net()
for one in (quiet.fc1, quiet.fc2):
    nn.init.zeros_(one.bias)
    nn.init.ones_(one.weight)
number = 7
