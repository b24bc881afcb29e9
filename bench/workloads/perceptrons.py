"""Perceptrons: `mlp`, `mnist-mlp`, `frames-mlp`, and `data`, which delivers the frames that the
last learns from.

`mlp` has the widths of its case. `mnist-mlp` is 784-1000-10, the network of snnTorch's tutorial for
IPUs, which has batches of 128 and 25 steps. `frames-mlp` is 100-128-128-128-35 on frames of sounds,
the network of the known comparison of caches for event data.
"""

from ..core.case import CASE_FIELDS, DATA, Case
from ..core.datasets import SOUND_FRAMES, form_of
from ..core.network import INPUT, Network, Node
from ..core.variant import VARIANT_FIELDS
from .base import workload
from .builder import Builder


@workload(
    "mlp",
    axes=("layers", "inputs", "neurons", "outputs", "bias"),
    small={"time_steps": 37, "batch": 3, "inputs": 61, "neurons": 97, "outputs": 31},
)
def mlp(case: Case) -> Network:
    """Layers of a linear map and neurons: `inputs`, then `neurons` in all layers but the last, then
    `outputs`."""
    net = Builder(case, (case.inputs,))
    for width in [case.neurons] * (case.layers - 1) + [case.outputs]:
        net.linear(width, bias=case.bias)
        net.neuron()
    return net.network


@workload(
    "mnist-mlp",
    axes=("neurons", "image", "classes"),
    small={"time_steps": 25, "batch": 3, "neurons": 97, "image": 9, "classes": 7},
    samples=60_000,
)
def mnist_mlp(case: Case) -> Network:
    """Two layers of a linear map and neurons: image² inputs, `neurons` hidden, a neuron a class.

    With loss `membrane` the last neurons hand out their potentials, as in the tutorial.
    """
    net = Builder(case, (case.image * case.image,))
    net.linear(case.neurons)
    net.neuron()
    net.linear(case.classes)
    net.neuron(potentials=case.loss == "membrane")
    return net.network


@workload(
    "frames-mlp",
    axes=("neurons", "classes"),
    small={"time_steps": 37, "batch": 3, "neurons": 31, "classes": 7},
    samples=75_466,
)
def frames_mlp(case: Case) -> Network:
    """Three layers of a linear map and neurons behind 100 channels of sound, and a linear map to
    the classes.

    Behind a delivery the channels are those of its recordings, in `inputs`.
    """
    net = Builder(case, (case.inputs or SOUND_FRAMES[0],))
    for _ in range(3):
        net.linear(case.neurons)
        net.neuron()
    net.linear(case.classes)
    return net.network


DATA_AXES = ("dataset", "samples", "loaders", "pinned", "augment", "behind", "recipe")
OF_ALL = (*VARIANT_FIELDS, "device", "workload", "time_steps", "batch", "seed")
"""Fields that deliveries share with networks."""
NO_NETWORK_FIELDS: dict[str, str | None] = {
    **dict.fromkeys(name for name in CASE_FIELDS if name not in (*DATA_AXES, *OF_ALL)),
    "precision": "fp32",
}


@workload(DATA, axes=DATA_AXES, small={"time_steps": 37, "batch": 3}, fixed=NO_NETWORK_FIELDS)
def data(case: Case) -> Network:
    """No network: an epoch of recordings, delivered as batches of frames."""
    return Network(form_of(case.dataset).features, (Node("frames", "flatten", (INPUT,)),))
