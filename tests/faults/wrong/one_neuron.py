"""Real networks of which one neuron, or its recurrence, is another one. Every class says what is
wrong with it."""

from dataclasses import replace
from functools import partial

import torch
from torch.nn import functional

from snnbench.adapters.base.torch_network import Recurrent
from snnbench.adapters.torch_loop import TorchLoop


class OneNeuron(TorchLoop):
    """The right network, but for its third neuron."""

    node = "neuron3"

    def neuron_of(self, case, node, features):
        right = super().neuron_of(case, node, features)
        return self.wrong(case.spec, features, right) if node.name == self.node else right


class OneSurrogate(OneNeuron):
    """One neuron has another surrogate."""

    name = "wrong-one-surrogate"

    def wrong(self, spec, features, right):
        return self.neuron(replace(spec, surrogate="atan"), features)


class OneWithoutTime(OneNeuron):
    """One neuron lets no gradient pass from step to step."""

    name = "wrong-one-without-time"

    def wrong(self, spec, features, right):
        step = right.step
        right.step = lambda current, v: step(current, None if v is None else v.detach())
        return right


class OneDetached(OneNeuron):
    """One neuron lets no gradient pass."""

    name = "wrong-one-detached"

    def wrong(self, spec, features, right):
        forward = right.forward
        right.forward = lambda currents: forward(currents).detach()
        return right


class StateOfTheLayerBefore(OneNeuron):
    """Every neuron begins with the last potentials of the one before, where there are as many."""

    name = "wrong-state-of-the-layer-before"

    def neuron_of(self, case, node, features):
        right = super(OneNeuron, self).neuron_of(case, node, features)
        step = right.step

        def stepped(current, v):
            if v is None and node.name != "neuron1" and self.last.shape == current.shape:
                v = self.last
            spikes, after = step(current, v)
            self.last = after.detach()
            return spikes, after

        right.step = stepped
        return right


class Recurrences(TorchLoop):
    """The recurrent linear is another one."""

    def program(self, case, network):
        program = super().program(case, network)
        for module in program.network.modules():
            if isinstance(module, Recurrent):
                module.recurrent.forward = partial(self.fed_back, module.recurrent)
        return program


class RecurrentTransposed(Recurrences):
    """The recurrent weight is transposed."""

    name = "wrong-recurrent-transposed"

    def fed_back(self, linear, spikes):
        return functional.linear(spikes, linear.weight.T)


class RecurrentWithoutItself(Recurrences):
    """No neuron takes its own spikes back."""

    name = "wrong-recurrent-without-itself"

    def fed_back(self, linear, spikes):
        return functional.linear(spikes, linear.weight - torch.diag(torch.diag(linear.weight)))


class RecurrentLosesCurrents(TorchLoop):
    """All currents of the step after a spike are lost, as with `RLeaky(reset_mechanism="zero")`."""

    name = "wrong-recurrent-loses-currents"

    def program(self, case, network):
        program = super().program(case, network)
        for module in program.network.modules():
            if isinstance(module, Recurrent):
                module.step = partial(self.step, module)
        return program

    def step(self, module, current, state):
        spikes, inner = (None, None) if state is None else state
        if spikes is not None:
            current = (current + module.recurrent(spikes)) * (spikes == 0)
        spikes, inner = module.neuron.step(current, inner)
        return spikes, (spikes, inner)


class RecurrenceLate(Recurrences):
    """The recurrence comes one step late."""

    name = "wrong-recurrence-late"

    def program(self, case, network):
        program = super().program(case, network)
        for module in program.network.modules():
            if isinstance(module, Recurrent):
                scan = module.scan
                module.scan = lambda currents, state, scan=scan: (
                    setattr(self, "spikes", None),
                    scan(currents, state),
                )[1]
        return program

    def fed_back(self, linear, spikes):
        before, self.spikes = self.spikes, spikes
        return linear(spikes) * 0 if before is None else functional.linear(before, linear.weight)


class RecurrenceWithBias(Recurrences):
    """The recurrent linear has a bias, as by default in `RLeaky`."""

    name = "wrong-recurrence-with-bias"

    def fed_back(self, linear, spikes):
        bias = torch.linspace(-0.3, 0.3, len(linear.weight))
        return functional.linear(spikes, linear.weight, bias)


class Scans(TorchLoop):
    """The first recurrent layer runs by `scan(modules, right, currents, state)`, of all recurrent
    layers and its right scan."""

    def program(self, case, network):
        program = super().program(case, network)
        modules = [m for m in program.network.modules() if isinstance(m, Recurrent)]
        self.by_nodes = {part.nodes: part.module for part in program.network.parts}
        for module in modules[:1]:
            module.scan = partial(self.scan, modules, module.scan)
        return program


class RecurrenceOfLastCall(Scans):
    """The first step takes back the last spikes of the call before."""

    name = "wrong-recurrence-of-last-call"
    last = None

    def scan(self, modules, right, currents, state):
        if self.last is not None and self.last.shape == currents.shape[1:]:
            state = self.last, None
        spikes, state = right(currents, state)
        self.last = spikes[-1].detach()
        return spikes, state


class RecurrenceOfNextLayer(Scans):
    """The first layer takes the spikes of the next one back, not its own."""

    name = "wrong-recurrence-of-next-layer"

    def scan(self, modules, right, currents, state):
        (first, second), linear = modules, self.by_nodes[("linear2",)]
        spikes, states, of_second = [], None, None
        for current in currents:
            if of_second is not None:
                current = current + first.recurrent(of_second[0])
            s, states = first.neuron.step(current, states)
            _, of_second = second.step(linear(s), of_second)
            spikes.append(s)
        return torch.stack(spikes), None


class RecurrenceBehindSynapse(Scans):
    """Spikes are fed back behind the synaptic current, not through it."""

    name = "wrong-recurrence-behind-synapse"

    def scan(self, modules, right, currents, state):
        spikes, more = [], torch.zeros_like(currents[0])
        for current in currents:
            s, (i, p) = modules[0].neuron.step(current + more, state)
            state, more = (i - more, p), modules[0].recurrent(s)
            spikes.append(s)
        return torch.stack(spikes), None
