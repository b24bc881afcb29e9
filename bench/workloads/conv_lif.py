"""`conv-lif`: one layer of a convolution and neurons."""

from ..core.case import Case
from ..core.network import Network
from .builder import Builder
from .workload import workload


@workload(
    "conv-lif",
    axes=("width", "image"),
    small={"time_steps": 11, "batch": 3, "width": 5, "image": 13},
)
def conv_lif(case: Case) -> Network:
    """A convolution of 3 × 3 that keeps the number of channels, and leaky integrate-and-fire
    neurons."""
    net = Builder(case, (case.width, case.image, case.image))
    net.conv(case.width, bias=True)
    net.neuron()
    return net.network
