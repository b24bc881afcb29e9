"""Wrong models, each a complaint of users of spiking frameworks in a few lines of its own. Inputs
are (T, B, 11) unless a test says otherwise."""

import torch
from torch import nn

FEATURES, HIDDEN, CLASSES = 11, 13, 5


class Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return (u >= 0).to(u.dtype)

    @staticmethod
    def backward(ctx, gradient):
        (u,) = ctx.saved_tensors
        return gradient / (1 + (torch.pi * u) ** 2)


class Lif(nn.Module):
    """A neuron by hand that keeps its membrane until `clear`: soft reset, attached, decay 0.75."""

    def __init__(self, threshold=1.0):
        super().__init__()
        self.threshold, self.membrane = threshold, None

    def clear(self):
        self.membrane = None

    def spike(self, u):
        return Surrogate.apply(u)

    def forward(self, current):
        before = 0.0 if self.membrane is None else self.membrane
        v = 0.75 * before + current
        spikes = self.spike(v - self.threshold)
        self.membrane = v - self.threshold * spikes
        return spikes


class Net(nn.Module):
    """Two layers in a loop over time; subclasses break one thing."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc1, self.lif1 = nn.Linear(FEATURES, HIDDEN), self.neuron()
        self.fc2, self.lif2 = nn.Linear(HIDDEN, CLASSES), self.neuron()
        with torch.no_grad():
            self.fc1.weight *= 4
            self.fc2.weight *= 4

    def neuron(self):
        return Lif()

    def begin(self):
        self.lif1.clear()
        self.lif2.clear()

    def step(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x))))

    def forward(self, x):
        self.begin()
        return torch.stack([self.step(one) for one in x])


class NoReset(Net):
    """The membrane survives the batch, and backward goes through the batch before."""

    def begin(self):
        pass


class Silent(Net):
    """A threshold that no current reaches: one layer never fires."""

    def __init__(self):
        super().__init__()
        self.lif2.threshold = 1e4


class BothSilent(Silent):
    def __init__(self):
        super().__init__()
        self.lif1.threshold = 1e4


class Saturated(Net):
    def __init__(self):
        super().__init__()
        with torch.no_grad():
            self.fc2.bias += 1e3


class BatchAsTime(Net):
    """Scans the first axis of an input that has the batch first."""


class NoSurrogate(Net):
    """A comparison in place of a surrogate."""

    def neuron(self):
        class Plain(Lif):
            def spike(self, u):
                return (u >= 0).float() + 0.0 * u

        return Plain()


class Cut(Net):
    """Spikes of the first layer are detached on the way to the second."""

    def step(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x)).detach()))


class Detached(Net):
    """The membrane is detached in every step: no gradient goes back in time."""

    def neuron(self):
        class Short(Lif):
            def forward(self, current):
                if self.membrane is not None:
                    self.membrane = self.membrane.detach()
                return super().forward(current)

        return Short()


class BatchNorm(Net):
    """A norm by hand that uses the statistics of the batch in eval mode, too."""

    def step(self, x):
        currents = self.fc1(x)
        currents = (currents - currents.mean(0)) / (currents.std(0) + 1e-3)
        return self.lif2(self.fc2(self.lif1(currents)))


class OverTime(Net):
    """Inputs are normalised by the whole recording: the future is known."""

    def forward(self, x):
        return super().forward(x / (1e-3 + x.mean(0, keepdim=True)))


class SoftmaxOverBatch(Net):
    def forward(self, x):
        return torch.softmax(super().forward(x).sum(0), dim=0)


class NotFinite(Net):
    """The root of a count that is 0 has an infinite slope."""

    def forward(self, x):
        spikes = super().forward(x)
        return torch.sqrt(spikes.sum(0) * 0)


class Unused(Net):
    def __init__(self):
        super().__init__()
        self.fc3 = nn.Linear(HIDDEN, CLASSES)


class Half(Net):
    """A spike in float32 behind layers in bfloat16."""

    def neuron(self):
        class Wide(Lif):
            def forward(self, current):
                return super().forward(current.float())

        return Wide()

    def __init__(self):
        super().__init__()
        self.bfloat16()

    def step(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x)).bfloat16()))


class Counts(Net):
    """Spikes as whole numbers."""

    def neuron(self):
        class Whole(Lif):
            def forward(self, current):
                return super().forward(current).long()

        return Whole()

    def step(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x)).float()))


class Random(Net):
    """Poisson input, drawn in eval mode as well."""

    def forward(self, x):
        return super().forward((torch.rand_like(x) < 0.3).float())


CALLS = [0]


class Global(Net):
    """A counter outside all modules."""

    def forward(self, x):
        CALLS[0] += 1
        return super().forward(x) * CALLS[0]


class Growing(Net):
    """Every call's spikes are recorded."""

    def __init__(self):
        super().__init__()
        self.records = []

    def forward(self, x):
        spikes = super().forward(x)
        self.records.append(spikes)
        return spikes


def reset_forgotten():
    """SpikingJelly without functional.reset_net: every step of training is slower and larger."""
    from spikingjelly.activation_based import neuron

    class Forgotten(Net):
        def neuron(self):
            return neuron.LIFNode()

        def begin(self):
            pass

    return Forgotten()


def detached_jelly():
    """SpikingJelly's detach_net in every step of the loop "to save memory"; scores are summed."""
    from spikingjelly.activation_based import functional, neuron

    class Detaching(Net):
        def neuron(self):
            return neuron.LIFNode()

        def forward(self, x):
            functional.reset_net(self)
            scores = 0.0
            for one in x:
                scores = scores + self.step(one)
                functional.detach_net(self)
            return scores

    return Detaching()


class DetachedByHand(Net):
    """The membrane is a variable of forward, detached in every step; the steps are summed."""

    def forward(self, x):
        membrane, scores = torch.zeros(x.shape[1], HIDDEN), 0.0
        for one in x:
            membrane = 0.75 * membrane.detach() + self.fc1(one)
            spikes = Surrogate.apply(membrane - 1)
            membrane = membrane - spikes
            scores = scores + self.fc2(spikes)
        return scores


class TruncatedByHand(DetachedByHand):
    """Truncated backpropagation through time, which is meant: no fault."""

    def forward(self, x):
        membrane, scores = torch.zeros(x.shape[1], HIDDEN), 0.0
        for step, one in enumerate(x):
            membrane = membrane.detach() if step % 4 == 0 else membrane
            membrane = 0.75 * membrane + self.fc1(one)
            spikes = Surrogate.apply(membrane - 1)
            membrane = membrane - spikes
            scores = scores + self.fc2(spikes)
        return scores


class Asks(Net):
    """A look at the spikes in every step, for which a GPU stands still."""

    def step(self, x):
        spikes = self.lif1(self.fc1(x))
        if spikes.max() > 1:
            raise ValueError("a spike is 0 or 1")
        return self.lif2(self.fc2(spikes))


class Tells(Lif):
    """Looks at its current in every step."""

    def forward(self, current):
        if current.max() > 1e6:
            raise ValueError("too loud")
        return super().forward(current)


class Checked(Net):
    """A net of such neurons."""

    def neuron(self):
        return Tells()


def jelly_by_bias():
    """SpikingJelly, all steps at once: two layers of which the second fires by its bias alone."""
    from spikingjelly.activation_based import functional, neuron

    class Biased(Net):
        def neuron(self):
            return neuron.LIFNode(step_mode="m")

        def forward(self, x):
            functional.reset_net(self)
            return self.step(x).mean(0)

    net = Biased()
    with torch.no_grad():
        net.fc1.weight *= 4
        net.fc2.weight *= 0
        net.fc2.bias.fill_(1.5)
    return net


class SingleStep(nn.Module):
    """A neuron for one step is given all of them."""

    def __init__(self):
        from spikingjelly.activation_based import neuron

        super().__init__()
        self.fc1, self.lif1 = nn.Linear(FEATURES, HIDDEN), neuron.LIFNode()

    def forward(self, x):
        self.lif1.reset()
        return self.lif1(8 * self.fc1(x))


def silent_and_not_reset():
    """SpikingJelly without functional.reset_net; no layer ever fires."""
    net = reset_forgotten()
    net.lif1.v_threshold = net.lif2.v_threshold = 1e4
    return net


def no_zero_gradients():
    """A surrogate that returns zeros backward."""

    class Zero(Surrogate):
        @staticmethod
        def backward(ctx, gradient):
            return 0 * gradient

    class Dead(Net):
        def neuron(self):
            class Neuron(Lif):
                def spike(self, u):
                    return Zero.apply(u)

            return Neuron()

    return Dead()


def state_dropped():
    """Norse's cell without the state that it returns: no memory between steps."""
    import norse.torch as norse

    class Forgetful(Net):
        def neuron(self):
            return norse.LIFBoxCell()

        def begin(self):
            pass

        def step(self, x):
            spikes, _ = self.lif1(20 * self.fc1(x))
            spikes, _ = self.lif2(20 * self.fc2(spikes))
            return spikes

    return Forgetful()


class PlainList(Net):
    """Layers in a list of Python: no optimizer has their weights."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(HIDDEN, HIDDEN)]

    def step(self, x):
        return self.lif2(self.fc2(self.layers[0](self.lif1(self.fc1(x)))))


class FixedSteps(Net):
    """A loop of ten steps whatever the recording has."""

    def forward(self, x):
        return super().forward(x[:10])


class CountsItems(Net):
    """A loop that counts the items of the batch."""

    def forward(self, x):
        self.begin()
        return torch.stack([self.step(x[t]) for t in range(x.shape[1])])


class MasksInputs(Net):
    """Steps from the twelfth on are padding."""

    def forward(self, x):
        return super().forward(x * (torch.arange(len(x)) < 12)[:, None, None])


class Viewed(Net):
    """A view where the axes had to be swapped: items and steps are mixed."""

    def forward(self, x):
        return super().forward(x.reshape(x.shape[1], x.shape[0], -1)).transpose(0, 1)


class Smoothed(Net):
    """A convolution over time that looks as far ahead as back."""

    def __init__(self):
        super().__init__()
        self.smooth = nn.Conv1d(FEATURES, FEATURES, 3, padding=1)

    def forward(self, x):
        return super().forward(self.smooth(x.permute(1, 2, 0)).permute(2, 0, 1))


class AlwaysDropped(Net):
    """A dropout as a function, which eval() does not switch off."""

    def step(self, x):
        return self.lif2(self.fc2(nn.functional.dropout(self.lif1(self.fc1(x)))))


class Wide(Net):
    """A constant from NumPy makes everything behind it float64."""

    def neuron(self):
        class Decayed(Lif):
            def forward(self, current):
                return super().forward(current * torch.ones(1, dtype=torch.float64))

        return Decayed()

    def step(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x)).float()))


class Three(Net):
    """Three faults: a state that survives, a norm over the batch, a silent layer."""

    def __init__(self):
        super().__init__()
        self.lif2.threshold = 1e4

    def begin(self):
        pass

    def step(self, x):
        currents = self.fc1(x)
        return self.lif2(self.fc2(self.lif1(currents - currents.mean(0))))
