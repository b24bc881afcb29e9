"""`alexnet`: seven convolutions and three linears for large images.

Liang et al., DATE 2022, with the strides of their code (`snnlib/example/models.py`). Their sizes
are width = 64, image = 224, classes = 1000, T = 6, B = 16.
"""

from ..core.case import Case
from ..core.network import Network
from .builder import Builder
from .workload import workload

CONVOLUTIONS = ((64, 2), (128, 2), (256, 2), (256, 2), (384, 1), (256, 1), (256, 2))
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
    for channels, stride in CONVOLUTIONS:
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
