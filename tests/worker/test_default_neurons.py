"""What an examination says of the neurons of five frameworks with their defaults.

`python tests/worker/test_default_neurons.py` prints the table.
"""

import sys
import warnings

import pytest
from support.slow import without
from torch import nn, stack

from snnbench.adapters.base import torch_model
from snnbench.runner.examine import neuron_in_words
from snnbench.worker.examine import Examination
from snnbench.worker.models import inputs

FEATURES, HIDDEN, STEPS, BATCH = 11, 8, 17, 3
BATCH_FIRST = ("sinabs", "rockpool")
OTHER = "the nearest equation; its potential decays with neither one constant nor two: 1, 4 and 15"
AGAIN = "1 step after a spike it needs"
REFRACTORY = f"{AGAIN} more than 16 times its threshold to fire again"
WINDOW = "its surrogate is none of those here"
ATAN = "threshold 1, surrogate atan of slope 1"
LEAKY = f"soft-undecayed, detached, decay 0.9, {ATAN}"
SYNAPTIC = f"soft-undecayed, detached, decay 0.8, synapse 0.9, {ATAN}"
NORSE = "decay 0.9, synapse 0.8, threshold 1, surrogate superspike of slope 1, currents times 0.1"
LSNN = f"17.5% of its decisions differ: {AGAIN} 1.96 of its threshold to fire again, not 0.16"
ALIF = f"6.0% of its decisions differ: {AGAIN} 1.04 of its threshold to fire again, not 1.00"
SIGMOID = "threshold 1, surrogate sigmoid of slope 4"
JELLY = f"hard, attached, decay 0.5, {SIGMOID}, currents times 0.5"
MANY = "many spikes a step, surrogate 2 times exponential of slope 2"
SINABS = f"soft, attached, decay 0.951229, threshold 1, {MANY}, currents times 0.048771"
SYNAPSES = "synapse {}, threshold 1, many spikes a step, currents times {}; learned: "

SAID = {
    # framework and class: words of its line
    "snntorch Leaky": f"{LEAKY}: proved",
    "snntorch Lapicque": f"soft-undecayed, detached, decay 0.89464, {ATAN}, currents times 0.10536",
    "snntorch Synaptic": f"{SYNAPTIC}: proved",
    "snntorch Alpha": f"spikes 1 step late, decides 27.4% otherwise; {REFRACTORY}",
    "snntorch RLeaky": f"{LEAKY}, recurrent: proved",
    "snntorch RSynaptic": f"{SYNAPTIC}, recurrent: proved",
    "snntorch StateLeaky": f"no reset, decay 0.904837, {ATAN}: proved",
    "snntorch LinearLeaky": f"no reset, decay 0.904837, {ATAN}: proved",
    "snntorch LeakyParallel": "no reset, decay 0.194091, threshold 1, surrogate 1.0005 times atan "
    "of slope 1.0079: the nearest equation; its decays differ by neuron; 2.2% of its decisions",
    "snntorch SLSTM": "not one of the equations here",
    **{
        f"norse {name}": "hard, attached, decay 1, threshold 1, surrogate superspike of slope 1: proved"
        for name in ("IAF", "IAFCell")
    },
    **{f"norse {name}": f"hard, attached, {NORSE}: proved" for name in ("LIF", "LIFCell")},
    "norse LIFBoxCell": f"hard, attached, {NORSE.replace('synapse 0.8, ', '')}: proved",
    **{
        f"norse {name}": f"hard, detached, {NORSE}, recurrent: proved"
        for name in ("LIFRecurrent", "LIFRecurrentCell")
    },
    **{
        f"norse {name}": LSNN for name in ("LSNN", "LSNNCell", "LSNNRecurrent", "LSNNRecurrentCell")
    },
    **{
        f"norse {name}": f"hard-straight, detached, {NORSE}, decides 25.7% otherwise; {REFRACTORY}"
        for name in ("LIFRefracCell", "LIFRefracRecurrent", "LIFRefracRecurrentCell")
    },
    **{
        f"norse {kind}{form}": OTHER
        for kind in ("LIFEx", "LIFAdEx")
        for form in ("", "Cell", "Recurrent", "RecurrentCell")
    },
    **{f"norse LIFAdExRefrac{form}": OTHER for form in ("Cell", "Recurrent", "RecurrentCell")},
    "norse CobaLIFCell": "not one of the equations here, recurrent: it fires without a current",
    "norse LIFMCRefracRecurrentCell": "its decays differ by neuron; its potential decays with nei",
    "norse LIFMCRecurrentCell": "the nearest equation; its decays differ by neuron; its gradient",
    "sinabs IAF": f"soft, attached, decay 1, threshold 1, {MANY}: proved",
    "sinabs LIF": f"{SINABS}; learned: tau_mem: proved",
    "sinabs ALIF": ALIF,
    "sinabs IAFRecurrent": f"soft, attached, decay 1, threshold 1, {MANY}, recurrent: proved",
    "sinabs LIFRecurrent": f"{SINABS}, recurrent; learned: tau_mem: proved",
    "sinabs ALIFRecurrent": ALIF,
    **{
        f"spikingjelly {name}": f"hard, attached, decay 1, {SIGMOID}: proved"
        for name in ("IFNode", "SimpleIFNode")
    },
    "spikingjelly LIFNode": f"{JELLY}: proved",
    "spikingjelly ParametricLIFNode": f"{JELLY}; learned: w: proved",
    "spikingjelly KLIFNode": "the nearest equation; the potential is cut off below 0",
    **{f"spikingjelly {name}": OTHER for name in ("QIFNode", "IzhikevichNode", "RAFNode")},
    "spikingjelly EIFNode": "it fires without a current",
    "spikingjelly CUBALIFNode": "hard, attached, decay 0.75, synapse 0.5, threshold 0.5, surrogate "
    "rectangle of slope 1: proved",
    "spikingjelly SLTTLIFNode": "the nearest equation; the gradient is cut at every step",
    "spikingjelly OTTTLIFNode": "the nearest equation; the gradient is cut at every step",
    "spikingjelly ComplementaryLIFNode": f"0.8% of its decisions differ: {AGAIN} 1.34 of its",
    "spikingjelly HalfThresholdIFNode": f"3.5% of its decisions differ: {AGAIN} 1.95 of its",
    "spikingjelly ILIFNode": "soft, attached, decay 0.25, threshold 1, 0 to 4 spikes a step, "
    "rounded, surrogate a window: proved",
    "spikingjelly ActivationAwareIFNode": f"soft, attached, decay 1, {SIGMOID}: proved",
    "spikingjelly TernaryIFNode": "it hands out negative spikes, too",
    "spikingjelly TernaryLIFNode": WINDOW,
    "spikingjelly PSN": "it runs on 17 time steps and on no other number",
    "spikingjelly SlidingPSN": OTHER,
    "rockpool LIFTorch": SYNAPSES.format(0.951229, 0.95123),
    "rockpool LIFBitshiftTorch": SYNAPSES.format(0.9375, 0.9375),
    "rockpool aLIFTorch": f"decides 28.6% otherwise; {AGAIN} 0.81 of its threshold",
    "rockpool LIFNeuronTorch": WINDOW,
}
ARGUMENTS = {
    "Leaky": (0.9,),
    "Lapicque": (0.9,),
    "Synaptic": (0.9, 0.8),
    "Alpha": (0.9, 0.8),
    "RLeaky": (0.9, 1.0, True, HIDDEN),
    "RSynaptic": (0.9, 0.8, 1.0, True, HIDDEN),
    "StateLeaky": (0.9, HIDDEN),
    "LinearLeaky": (0.9, HIDDEN, HIDDEN),
    "LeakyParallel": (HIDDEN, HIDDEN),
    "SLSTM": (HIDDEN, HIDDEN),
    "LIF": (20.0,),
    "ALIF": (20.0, 20.0),
    "PSN": (STEPS,),
    "SlidingPSN": (2,),
}
"""What constructors of other frameworks than Norse need; recurrent ones also a layer."""
WHOLE = ("StateLeaky", "LinearLeaky", "LeakyParallel", "PSN", "SlidingPSN")
"""Neurons of frameworks with a loop over time that take all steps at once."""


class Layer(nn.Module):
    """A linear layer and a neuron, which takes all steps at once or what it returned before."""

    def __init__(self, neuron, loops, reset, first, passes):
        super().__init__()
        self.fc, self.neuron = nn.Linear(FEATURES, HIDDEN), neuron
        self.loops, self.reset_all, self.first, self.passes = loops, reset, first, passes

    def forward(self, x):
        self.reset_all(self)
        currents = 4 * self.fc(x)
        if not self.loops:
            return _parts(self.neuron(currents))[0]
        spikes, state = [], self.first(self.neuron)
        for step in currents:
            returned = _parts(self.neuron(step, *state))
            spikes.append(returned[0])
            state = self.passed_on(state, returned)
        return stack(spikes)

    def passed_on(self, state, returned):
        if not self.passes:
            return ()
        return returned if len(state) == len(returned) else returned[1:]


def _parts(returned):
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def layer(framework, name):
    """Returns a layer with a neuron of a framework with its defaults."""
    sys.modules["samna"] = None
    loops, reset, first = False, lambda net: None, lambda neuron: ()
    if framework == "snntorch":
        import snntorch as kinds

        loops, first = name not in WHOLE, lambda neuron: _parts(neuron.reset_mem())
    elif framework == "norse":
        import norse.torch as kinds

        loops = name.endswith("Cell")
    elif framework == "sinabs":
        import sinabs
        import sinabs.layers as kinds

        reset = sinabs.reset_states
    elif framework == "spikingjelly":
        from spikingjelly.activation_based import functional
        from spikingjelly.activation_based import neuron as kinds

        loops, reset = name not in WHOLE, functional.reset_net
    else:
        import rockpool.nn.modules as kinds

        reset = lambda net: net.neuron.reset_state()
    arguments = ARGUMENTS.get(name.removesuffix("Recurrent"), ())
    if framework == "norse":
        weighs = "Recurrent" in name or name == "CobaLIFCell"
        arguments = (HIDDEN, HIDDEN) if weighs else ()
    elif framework == "rockpool":
        arguments = (HIDDEN,)
    elif name.endswith("Recurrent"):
        arguments += (nn.Linear(HIDDEN, HIDDEN),)
    more = {"step_mode": "m"} if name == "SlidingPSN" else {}
    return Layer(
        getattr(kinds, name)(*arguments, **more), loops, reset, first, framework != "spikingjelly"
    )


def said_of(framework, name):
    """Returns the lines on the neurons of a layer."""
    torch_model.torch.manual_seed(0)
    axes = "btf" if framework in BATCH_FIRST else "tbf"
    model = torch_model.TorchModel(layer(framework, name), axes)
    x, other = inputs((STEPS, BATCH, FEATURES))
    examination = Examination(model, x, other, "", lambda event: None, lambda answer: None)
    seen = examination._first_call()
    examination.seen, examination.neurons = seen, torch_model.neurons_of(model, seen)
    list(examination._of_layers(examination.neurons))
    list(examination._of_neurons(examination.neurons))
    return [neuron_in_words(one) for one in examination.answer.neurons]


QUICK = {"norse LIFRecurrentCell"}


@pytest.mark.parametrize("neuron", without(SAID.keys() - QUICK, SAID))
def test_a_neuron_with_its_defaults_is_named(neuron, monkeypatch):
    monkeypatch.setitem(sys.modules, "samna", None)
    (line,) = said_of(*neuron.split())
    assert SAID[neuron] in line, line


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for neuron in SAID:
        for line in said_of(*neuron.split()):
            print(line.partition(": ")[2], flush=True)
