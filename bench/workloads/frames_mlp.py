"""`frames-mlp`: 100-128-128-128-35 on frames of sounds, the network of the known comparison of caches for event data."""

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.datasets import SOUND_FRAMES, form_of
from ..core.network import Network
from ..core.variant import Variant
from .builder import Builder
from .workload import workload

INTEGRATE = NeuronSpec("soft", decay=1.0, surrogate="exponential", slope=2.0)
"""The comparison's neuron: it integrates without a leak, and its surrogate has a width of half a threshold."""


@workload(
    "frames-mlp",
    axes=("neurons", "classes"),
    small={"time_steps": 37, "batch": 3, "neurons": 31, "classes": 7},
    samples=75_466,
)
def frames_mlp(case: Case) -> Network:
    """Three layers of a linear map and neurons behind 100 channels of sound, and a linear map to the classes."""
    return _layers(case, *SOUND_FRAMES)


def _layers(case: Case, channels: int) -> Network:
    net = Builder(case, (channels,))
    for _ in range(3):
        net.linear(case.neurons)
        net.neuron()
    net.linear(case.classes)
    return net.network


def trained_on(case: Case, variant: Variant) -> tuple[Case, Network]:
    """Returns the case and the network that train on the batches of `case`: the same network, for the
    channels of its frames."""
    data = form_of(case.dataset)
    own = frames_mlp.canonical(
        Case(
            variant.adapter,
            variant.construction,
            variant.mode,
            case.device,
            frames_mlp.name,
            INTEGRATE,
            neurons=128,
            time_steps=case.time_steps,
            batch=case.batch,
            input="dense",
            input_grad=False,
            seed=case.seed,
            classes=data.classes,
            loss="cross-entropy",
        )
    )
    return own, _layers(own, data.channels)
