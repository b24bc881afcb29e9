"""Sequences: `shd`, `ssc`, `psmnist` and `adding`, recurrent layers over a hundred steps and more,
and `shd-delays`.

`shd` and `ssc` have the readouts of two papers. `max_time` is that of SpyTorch's fourth tutorial
(Zenke): a synapse of 5 and a membrane of 10 steps, the maximum over time. `softmax_sum` is that of
Bittar & Garner 2022: a normal integrator and the sum of softmax over time; its time constant, which
they learn between 5 and 25 steps, is 15. The spikes of a recording in 100 bins of 10 ms are ones in
about 8 % of its 700 channels. Usual sizes: 1 or 2 layers of 128 to 1,024, 100 steps, batches of 128
or 256.

`psmnist` and `adding` are those of NeuroSeqBench (arXiv 2502.09449), where the last hidden layer is
not recurrent: 1-64-256-256-10 with 784 steps and batches of 256, a decay of 0.5, a threshold of 0.5
and a rectangle; 2-128-128-10 with 100 to 2,400 steps and batches of 250, where the sum of marked
bits is due at the last step.

`shd-delays` is that of Hammouamri et al. (ICLR 2024, `best_config_SHD.py`): learned delays of up to
25 steps in place of recurrence, 140-256-256-20 and batches of 256. The width σ of their kernels
falls in the first quarter of the training; here it has its last value.
"""

from math import exp

from ..core.case import Case
from ..core.datasets import DATA_SETS
from ..core.network import Network
from .base import workload
from .builder import Builder

SYNAPSE, MEMBRANE = exp(-1 / 5), exp(-1 / 10)
"""Decays of SpyTorch's readout."""
LEAK = exp(-1 / 15)
"""Decay of Bittar & Garner's readout."""
DELAYS, SIGMA, SHORT = 25, 0.5, 1 - 1 / 1.005
"""Steps of delays, the last width of their kernels, and the decay of the readout."""
OF_SOUNDS = ("layers", "inputs", "neurons", "recurrent", "readout")
SMALL = {"time_steps": 37, "batch": 3, "inputs": 61, "neurons": 31}


@workload("shd", axes=OF_SOUNDS, small=SMALL, samples=8_156)
def shd(case: Case) -> Network:
    """Spoken digits: hidden layers, recurrent or not, behind 700 channels of sound, and integrators
    of 20 classes, read out over time."""
    return _of_sounds(case, DATA_SETS["shd"].classes)


@workload("ssc", axes=OF_SOUNDS, small=SMALL, samples=75_466)
def ssc(case: Case) -> Network:
    """Spoken commands: `shd` with 35 classes."""
    return _of_sounds(case, DATA_SETS["ssc"].classes)


def _of_sounds(case: Case, classes: int) -> Network:
    net = Builder(case, (case.inputs,))
    for _ in range(case.layers):
        net.linear(case.neurons, bias=False)
        net.neuron(recurrent=case.recurrent)
    net.linear(classes, bias=False)
    if case.readout == "max_time":
        net.integrator(SYNAPSE)
        net.integrator(MEMBRANE)
    else:
        net.integrator(LEAK, normal=True)
    net.over_time(case.readout)
    return net.network


@workload("shd-delays", axes=("layers", "inputs", "neurons"), small=SMALL, samples=8_156)
def shd_delays(case: Case) -> Network:
    """Spoken digits: hidden layers that hear each channel at a learned delay, with norms, and
    integrators of 20 classes behind delays, the sum of softmax over time."""
    net = Builder(case, (case.inputs,))
    for _ in range(case.layers):
        net.delayed(case.neurons, DELAYS, SIGMA)
        net.norm()
        net.neuron()
    net.delayed(DATA_SETS["shd"].classes, DELAYS, SIGMA)
    net.integrator(SHORT)
    net.over_time("softmax_sum")
    return net.network


@workload(
    "psmnist",
    axes=("neurons", "recurrent"),
    small={"time_steps": 37, "batch": 3, "neurons": 28},
    samples=60_000,
)
def psmnist(case: Case) -> Network:
    """Pixels of a digit one after the other: hidden layers of a quarter of `neurons`, and twice
    `neurons`, all but the last recurrent or not; the mean over time of 10 classes."""
    net = Builder(case, (1,))
    _hidden(net, case, [max(1, case.neurons // 4), case.neurons, case.neurons])
    net.linear(10)
    net.mean_time()
    return net.network


@workload(
    "adding",
    axes=("neurons", "recurrent"),
    small={"time_steps": 37, "batch": 3, "neurons": 31},
    samples=50_000,
)
def adding(case: Case) -> Network:
    """Bits and marks: two hidden layers, the first recurrent or not; the last step of 10
    classes."""
    net = Builder(case, (2,))
    _hidden(net, case, [case.neurons, case.neurons])
    net.linear(10)
    net.over_time("last_time")
    return net.network


def _hidden(net: Builder, case: Case, widths: list[int]) -> None:
    for number, width in enumerate(widths, 1):
        net.linear(width)
        net.neuron(recurrent=case.recurrent and number < len(widths))
