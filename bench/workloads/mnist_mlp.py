"""`mnist-mlp`: 784-1000-10, the network of snnTorch's tutorial for IPUs, which has batches of 128
and 25 steps."""

from ..core.case import Case
from ..core.network import Network
from .builder import Builder
from .workload import workload


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
