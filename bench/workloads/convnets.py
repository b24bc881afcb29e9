"""Convolutional networks: `cifar-small`, `cifar-medium`, `cifar-large` and `alexnet`, on which
fused backpropagation through time was published, and the first three as `conv-small`,
`conv-medium` and `conv-large`, nearly without neurons.

Liang et al., DATE 2022, table of networks, with the strides of their code
(`snnlib/example/models.py`). Every stage of the CIFAR networks ends with a stride of 2, and the
classifier reads the mean over time. The paper's sizes are width = 128, image = 32, classes = 10, T
= 10, B = 64; for `alexnet` width = 64, image = 224, classes = 1000, T = 6, B = 16.
"""

from ..core.case import Case
from ..core.network import Network
from .base import workload
from .builder import Builder

CIFAR_AXES = ("width", "image", "classes", "norm")
CIFAR_SMALL = {"time_steps": 5, "batch": 3, "width": 8, "image": 19, "classes": 7}


SMALL, MEDIUM, LARGE = (1, 1, 1), (3, 2, 2), (3, 3, 3)
"""Convolutions of each stage."""


def cifar(case: Case, convolutions: tuple[int, int, int], spiking: bool = True) -> Network:
    """Builds three stages of `convolutions` with 1, 2 and 4 times `width` channels, two linears and
    the classifier; neurons behind each layer but the last or, unless `spiking`, behind the second
    linear alone."""
    net = Builder(case, (3, case.image, case.image))
    for stage, count in enumerate(convolutions):
        for number in range(1, count + 1):
            net.conv(case.width << stage, stride=2 if number == count else 1, bias=not case.norm)
            _spike(net, case, spiking)
    net.flatten()
    for outputs, fires in ((8 * case.width, spiking), (4 * case.width, True)):
        net.linear(outputs, bias=not case.norm)
        _spike(net, case, fires)
    net.mean_time()
    net.linear(case.classes)
    return net.network


def _spike(net: Builder, case: Case, fires: bool) -> None:
    if case.norm:
        net.norm()
    if fires:
        net.neuron()


@workload("cifar-small", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def cifar_small(case: Case) -> Network:
    """Three convolutions, two linears and a classifier of the mean over time (Liang et al.'s small
    CIFAR network)."""
    return cifar(case, SMALL)


@workload("cifar-medium", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def cifar_medium(case: Case) -> Network:
    """Seven convolutions, two linears and a classifier of the mean over time (Liang et al.'s medium
    CIFAR network)."""
    return cifar(case, MEDIUM)


@workload("cifar-large", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def cifar_large(case: Case) -> Network:
    """Nine convolutions, two linears and a classifier of the mean over time (Liang et al.'s large
    CIFAR network)."""
    return cifar(case, LARGE)


@workload("conv-small", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def conv_small(case: Case) -> Network:
    """`cifar-small` with neurons behind its last hidden layer alone: what is left of a step without
    them (Liang et al.'s baseline of convolutions)."""
    return cifar(case, SMALL, spiking=False)


@workload("conv-medium", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def conv_medium(case: Case) -> Network:
    """`cifar-medium` with neurons behind its last hidden layer alone."""
    return cifar(case, MEDIUM, spiking=False)


@workload("conv-large", axes=CIFAR_AXES, small=CIFAR_SMALL, samples=50_000)
def conv_large(case: Case) -> Network:
    """`cifar-large` with neurons behind its last hidden layer alone."""
    return cifar(case, LARGE, spiking=False)


ALEXNET_CONVOLUTIONS = ((64, 2), (128, 2), (256, 2), (256, 2), (384, 1), (256, 1), (256, 2))
"""Channels and stride of each at the published width of 64."""


@workload(
    "alexnet",
    axes=("width", "image", "classes"),
    small={"time_steps": 5, "batch": 3, "width": 4, "image": 37, "classes": 7},
    samples=1_281_167,
)
def alexnet(case: Case) -> Network:
    """Seven convolutions with norms, two linears and a classifier of the mean over time (Liang et
    al.'s AlexNet)."""
    net = Builder(case, (3, case.image, case.image))
    for channels, stride in ALEXNET_CONVOLUTIONS:
        net.conv(channels * case.width // 64, stride=stride)
        net.norm()
        net.neuron()
    net.flatten()
    net.linear(64 * case.width, bias=False)
    net.norm()
    net.neuron()
    net.linear(64 * case.width)
    net.neuron()
    net.mean_time()
    net.linear(case.classes)
    return net.network
