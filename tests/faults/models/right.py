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


class ChangesInput(SnnTorchLoop):
    """Scales its input in place."""

    def forward(self, x):
        return super().forward(x.mul_(2))


class Sparse(nn.Module):
    """Its readout seldom fires: neither zeros nor ones late in the input change a spike."""

    def __init__(self):
        import snntorch

        super().__init__()
        torch.manual_seed(0)
        self.fc1, self.lif1 = nn.Linear(FEATURES, HIDDEN), snntorch.Leaky(0.9, threshold=20.0)
        with torch.no_grad():
            self.fc1.weight.abs_()

    def forward(self, x):
        membrane, spikes = self.lif1.init_leaky(), []
        for place, step in enumerate(x):
            current = self.fc1(step) * (40.0 if place == 2 else 1.0)
            spike, membrane = self.lif1(current, membrane)
            spikes.append(spike)
        return torch.stack(spikes)


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
    """Neurons with a synaptic current that pass their states on; a readout that never resets."""

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


class SnnTorchRecurrent(nn.Module):
    """A layer that feeds its spikes back, with states that are passed on; its spikes go out."""

    def __init__(self):
        import snntorch

        super().__init__()
        torch.manual_seed(0)
        self.fc1 = nn.Linear(FEATURES, HIDDEN)
        self.lif1 = snntorch.RLeaky(beta=0.9, linear_features=HIDDEN)

    def forward(self, x):
        (spikes, membrane), steps = self.lif1.init_rleaky(), []
        for step in x:
            spikes, membrane = self.lif1(self.fc1(step), spikes, membrane)
            steps.append(spikes)
        return torch.stack(steps)


def sinabs_recurrent():
    """(B, T, features): a recurrent layer of one spike a step, and a readout summed over time; the
    training loop resets states."""
    import sinabs.layers as sl
    from sinabs.activation import SingleExponential, SingleSpike

    class Sum(nn.Module):
        def forward(self, x):
            return x.sum(1)

    torch.manual_seed(0)
    neuron = sl.LIFRecurrent(
        tau_mem=10.0,
        rec_connect=nn.Linear(HIDDEN, HIDDEN),
        spike_fn=SingleSpike,
        surrogate_grad_fn=SingleExponential(grad_scale=0.5),
        norm_input=False,
    )
    neuron.tau_mem.requires_grad_(False)
    net = nn.Sequential(nn.Linear(FEATURES, HIDDEN), neuron, nn.Linear(HIDDEN, CLASSES), Sum())
    with torch.no_grad():
        net[0].weight *= 2
    return net


def sinabs_recurrent_reset():
    """The same with a forward that resets, as its author means."""
    import sinabs

    net = sinabs_recurrent()
    net.register_forward_pre_hook(lambda net, x: sinabs.reset_states(net))
    return net


def snntorch_convolution():
    """Images (T, B, 2, 9, 9) in a Sequential of neurons that keep their states; forward resets."""
    import snntorch
    from snntorch import surrogate, utils

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            neuron = {"beta": 0.5, "spike_grad": surrogate.fast_sigmoid(25), "init_hidden": True}
            self.net = nn.Sequential(
                nn.Conv2d(2, 5, 3),
                nn.MaxPool2d(2),
                snntorch.Leaky(**neuron),
                nn.Flatten(),
                nn.Linear(45, CLASSES),
                snntorch.Leaky(**neuron, output=True),
            )
            with torch.no_grad():
                self.net[0].weight *= 4
                self.net[4].weight *= 4

        def forward(self, x):
            utils.reset(self.net)
            spikes, membranes = zip(*(self.net(step) for step in x), strict=True)
            return torch.stack(spikes), torch.stack(membranes)

    return Net()


class SnnTorchLearned(nn.Module):
    """Decays and thresholds are learned; the readout is the membrane of a neuron that never
    resets, for a regression."""

    def __init__(self):
        import snntorch

        super().__init__()
        torch.manual_seed(0)
        self.fc1 = nn.Linear(FEATURES, HIDDEN)
        self.lif1 = snntorch.Leaky(beta=0.9, learn_beta=True, learn_threshold=True)
        self.fc2 = nn.Linear(HIDDEN, 1)
        self.lif2 = snntorch.Leaky(beta=0.95, learn_beta=True, reset_mechanism="none")

    def forward(self, x):
        mem1, mem2, membranes = self.lif1.reset_mem(), self.lif2.reset_mem(), []
        for step in x:
            spikes, mem1 = self.lif1(self.fc1(step), mem1)
            _, mem2 = self.lif2(self.fc2(spikes), mem2)
            membranes.append(mem2)
        return torch.stack(membranes)


class SnnTorchShared(nn.Module):
    """Two layers of different sizes share a neuron; forward clamps its membranes."""

    def __init__(self):
        import snntorch

        super().__init__()
        torch.manual_seed(0)
        self.fc1, self.fc2 = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.lif = snntorch.Leaky(beta=0.9)
        with torch.no_grad():
            self.fc1.weight *= 4
            self.fc2.weight *= 4

    def forward(self, x):
        first = second = None
        outputs = []
        for step in x:
            spikes, first = self.lif(self.fc1(step), first)
            spikes, second = self.lif(self.fc2(spikes), second)
            first, second = first.clamp(-2, 2), second.clamp(-2, 2)
            outputs.append(spikes)
        return torch.stack(outputs)


class ByHand(nn.Module):
    """The spike is a module, the membrane a variable of forward."""

    class Spike(nn.Module):
        def forward(self, potential):
            return (
                torch.sigmoid(4 * (potential - 1))
                + ((potential > 1).float() - torch.sigmoid(4 * (potential - 1))).detach()
            )

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc, self.spike = nn.Linear(FEATURES, HIDDEN), self.Spike()
        with torch.no_grad():
            self.fc.weight *= 4

    def forward(self, x):
        membrane, rate = 0.0, 0.0
        for step in x:
            membrane = 0.9 * membrane + self.fc(step)
            spikes = self.spike(membrane)
            membrane = membrane - spikes.detach()
            rate = rate + spikes
        return rate / len(x)


def norse_convolution():
    """Images (T, B, 2, 9, 9): states are passed on in a loop, and the largest potential is the
    score."""
    import norse.torch as norse

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.conv, self.pool = nn.Conv2d(2, 5, 3), nn.MaxPool2d(2)
            self.lif1, self.fc = norse.LIFCell(), nn.Linear(45, HIDDEN)
            self.lif2, self.out = norse.LIFCell(), norse.LILinearCell(HIDDEN, CLASSES)
            with torch.no_grad():
                self.conv.weight *= 40
                self.fc.weight *= 40

        def forward(self, x):
            first = second = last = None
            potentials = []
            for step in x:
                spikes, first = self.lif1(self.pool(self.conv(step)), first)
                spikes, second = self.lif2(self.fc(spikes.flatten(1)), second)
                potential, last = self.out(spikes, last)
                potentials.append(potential)
            return torch.stack(potentials).amax(0)

    return Net()


def norse_recurrent_cell():
    """A recurrent cell and a leaky readout in a loop of a task with memory."""
    import norse.torch as norse

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.hidden = norse.LIFRecurrentCell(FEATURES, HIDDEN)
            self.readout = norse.LILinearCell(HIDDEN, CLASSES)
            with torch.no_grad():
                self.hidden.input_weights *= 20

        def forward(self, x):
            state = out = None
            values = []
            for step in x:
                spikes, state = self.hidden(step, state)
                value, out = self.readout(spikes, out)
                values.append(value)
            return torch.stack(values)

    return Net()


def spikingjelly_convolution():
    """Images (T, B, 2, 9, 9), all steps at once: two blocks of convolution, norm and neuron."""
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            blocks = []
            for channels in (2, 5):
                blocks += [
                    layer.Conv2d(channels, 5, 3, padding=1, bias=False),
                    layer.BatchNorm2d(5),
                    neuron.IFNode(surrogate_function=surrogate.ATan()),
                    layer.MaxPool2d(2, 2),
                ]
            self.layers = nn.Sequential(*blocks, layer.Flatten(), layer.Linear(20, CLASSES))
            functional.set_step_mode(self, "m")

        def forward(self, x):
            functional.reset_net(self)
            return self.layers(x).mean(0)

    return Net()


def spikingjelly_loop():
    """Single steps in a loop of forward; the firing rate is the score."""
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = nn.Sequential(
                layer.Flatten(),
                layer.Linear(FEATURES, CLASSES, bias=False),
                neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()),
            )
            with torch.no_grad():
                self.layer[1].weight *= 4

        def forward(self, x):
            functional.reset_net(self)
            rate = 0.0
            for step in x:
                rate = rate + self.layer(step)
            return rate / len(x)

    return Net()


def rockpool_synapses():
    """(B, T, features): hidden neurons with synapses, and synapses alone as a readout."""
    from rockpool.nn.combinators import Sequential
    from rockpool.nn.modules import ExpSynTorch, LIFTorch, LinearTorch

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layers = Sequential(
                LinearTorch((FEATURES, HIDDEN)),
                LIFTorch(HIDDEN, tau_mem=0.02, tau_syn=0.01, dt=1e-3),
                LinearTorch((HIDDEN, CLASSES)),
                ExpSynTorch(CLASSES, tau=0.01, dt=1e-3),
            )

        def forward(self, x):
            self.layers.reset_state()
            return self.layers(x)[0].mean(1)

    return Net()
