"""Right models as users of five frameworks write them after the tutorials, on inputs (T, B, 11)."""

import torch
from torch import nn

FEATURES, HIDDEN, CLASSES = 11, 13, 5


class SnnTorchLoop(nn.Module):
    """Membranes are passed on in a loop over time; spikes and membranes are returned."""

    def __init__(self):
        import snntorch

        super().__init__()
        self.fc1, self.lif1 = nn.Linear(FEATURES, HIDDEN), snntorch.Leaky(beta=0.9)
        self.fc2, self.lif2 = nn.Linear(HIDDEN, CLASSES), snntorch.Leaky(beta=0.8)

    def forward(self, x):
        mem1, mem2 = self.lif1.init_leaky(), self.lif2.init_leaky()
        spikes, membranes = [], []
        for step in x:
            spk1, mem1 = self.lif1(self.fc1(step), mem1)
            spk2, mem2 = self.lif2(self.fc2(spk1), mem2)
            spikes.append(spk2)
            membranes.append(mem2)
        return torch.stack(spikes), torch.stack(membranes)


class SnnTorchHidden(nn.Module):
    """Neurons keep their membranes, and forward resets them."""

    def __init__(self):
        import snntorch

        super().__init__()
        self.fc1, self.lif1 = (
            nn.Linear(FEATURES, HIDDEN),
            snntorch.Leaky(beta=0.5, init_hidden=True, reset_mechanism="zero"),
        )
        self.fc2, self.lif2 = (
            nn.Linear(HIDDEN, CLASSES),
            snntorch.Leaky(beta=0.5, init_hidden=True, output=True),
        )

    def forward(self, x):
        from snntorch import utils

        utils.reset(self)
        steps = [self.lif2(self.fc2(self.lif1(self.fc1(step)))) for step in x]
        return torch.stack([spikes for spikes, _ in steps]).sum(0)


def norse_sequential():
    """Norse's SequentialState in a loop over time, with a readout of leaky integrators."""
    import norse.torch as norse

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = norse.SequentialState(
                nn.Linear(FEATURES, HIDDEN),
                norse.LIFBoxCell(),
                nn.Linear(HIDDEN, CLASSES),
                norse.LICell(),
            )
            with torch.no_grad():
                self.layers[0].weight *= 20

        def forward(self, x):
            state, values = None, []
            for step in x:
                value, state = self.layers(step, state)
                values.append(value)
            return torch.stack(values)

    return Net()


def norse_lifted():
    import norse.torch as norse

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.lif = nn.Linear(FEATURES, HIDDEN), norse.LIF()
            with torch.no_grad():
                self.fc.weight *= 20

        def forward(self, x):
            spikes, _ = self.lif(self.fc(x))
            return spikes

    return Net()


def spikingjelly_multi_step():
    """All steps at once, with a norm; reset at the start of forward."""
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                layer.Linear(FEATURES, HIDDEN, bias=False),
                layer.BatchNorm1d(HIDDEN),
                neuron.LIFNode(surrogate_function=surrogate.ATan()),
                layer.Linear(HIDDEN, CLASSES),
                neuron.IFNode(detach_reset=True, surrogate_function=surrogate.ATan()),
            )
            functional.set_step_mode(self, "m")

        def forward(self, x):
            functional.reset_net(self)
            return self.layers(x).mean(0)

    return Net()


def spikingjelly_step():
    """A step a call; the training loop calls functional.reset_net after each batch."""
    from spikingjelly.activation_based import layer, neuron

    return nn.Sequential(layer.Linear(FEATURES, HIDDEN), neuron.LIFNode(tau=2.0))


def sinabs_sequential():
    """(B, T, features); the training loop calls reset_states before each batch."""
    import sinabs.layers as sl

    return nn.Sequential(
        nn.Linear(FEATURES, HIDDEN), sl.LIF(tau_mem=20.0), nn.Linear(HIDDEN, CLASSES), sl.IAF()
    )


def rockpool_sequential():
    """(B, T, features)."""
    from rockpool.nn.combinators import Sequential
    from rockpool.nn.modules import LIFTorch, LinearTorch

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = Sequential(LinearTorch((FEATURES, HIDDEN)), LIFTorch(HIDDEN))

        def forward(self, x):
            self.layers.reset_state()
            return self.layers(x)[0]

    return Net()


class SnnTorchSynaptic(nn.Module):
    """Neurons with a synaptic current, whose states are passed on; a readout that never resets."""

    def __init__(self):
        import snntorch

        super().__init__()
        self.fc1, self.lif1 = nn.Linear(FEATURES, HIDDEN), snntorch.Synaptic(alpha=0.8, beta=0.9)
        self.fc2 = nn.Linear(HIDDEN, CLASSES)
        self.lif2 = snntorch.Leaky(beta=0.9, reset_mechanism="none")

    def forward(self, x):
        synapse, mem1 = self.lif1.init_synaptic()
        mem2, membranes = self.lif2.init_leaky(), []
        for step in x:
            spikes, synapse, mem1 = self.lif1(self.fc1(step), synapse, mem1)
            _, mem2 = self.lif2(self.fc2(spikes), mem2)
            membranes.append(mem2)
        return torch.stack(membranes)


def spikingjelly_learned_decay():
    """Learned decays, and dropout that is off in eval mode."""
    from spikingjelly.activation_based import functional, layer, neuron

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                layer.Linear(FEATURES, HIDDEN),
                neuron.ParametricLIFNode(init_tau=2.0),
                layer.Dropout(0.3),
                layer.Linear(HIDDEN, CLASSES),
                neuron.LIFNode(),
            )
            functional.set_step_mode(self, "m")

        def forward(self, x):
            functional.reset_net(self)
            return self.layers(x).mean(0)

    return Net()


def norse_recurrent():
    """A recurrent layer and a leaky readout, both over whole sequences."""
    import norse.torch as norse

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.hidden = norse.LIFRecurrent(FEATURES, HIDDEN)
            self.fc, self.readout = nn.Linear(HIDDEN, CLASSES), norse.LI()
            with torch.no_grad():
                self.hidden.input_weights *= 20

        def forward(self, x):
            spikes, _ = self.hidden(x)
            return self.readout(self.fc(spikes))[0].amax(0)

    return Net()


def sinabs_convolution():
    """Images (B, T, 2, 5, 7) in one batch of frames, with neurons that find the steps again."""
    import sinabs
    import sinabs.layers as sl

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(2, 3, 3),
                sl.IAFSqueeze(batch_size=3),
                nn.Flatten(),
                nn.Linear(45, CLASSES),
            )

        def forward(self, x):
            sinabs.reset_states(self)
            return self.layers(x.flatten(0, 1)).unflatten(0, x.shape[:2]).sum(1)

    return Net()
