"""Residual networks: `resnet34`, `spiking-resnet18`, `spiking-resnet34`, `spiking-resnet50` and
`sew-resnet18`.

`resnet34` is that of Liang et al., DATE 2022 (`snnlib/example/models.py`): neurons stand before the
convolutions, sums are of potentials, and a projection heads every stage. The spiking ones are
SpikingJelly's (`spiking_resnet.py`), on which temporal fusion was published: sums are of currents,
and a neuron follows. The SEW network (Fang et al., NeurIPS 2021, `sew_resnet.py`) adds spikes.
Published sizes are width = 64 and image = 224, with T = 6, B = 16 for the first.
"""

from ..core.case import Case
from ..core.network import Network
from .base import workload
from .builder import Builder

AXES = ("width", "image", "classes")
TINY = {"time_steps": 5, "batch": 3, "width": 4, "image": 37, "classes": 7}


@workload("resnet34", axes=AXES, small=TINY, samples=1_281_167)
def resnet34(case: Case) -> Network:
    """A residual network of 34 layers with neurons that stand before the convolutions (Liang et
    al.'s)."""
    net = Builder(case, (3, case.image, case.image))
    net.conv(case.width, 7, stride=2)
    net.norm()
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            before, spikes, channels = net.last, net.neuron(), case.width << stage
            if block == 0:
                net.conv(channels, 1, stride=2)
                before = net.norm()
            net.conv(channels, stride=1 if block else 2, after=spikes)
            net.norm()
            net.neuron()
            net.conv(channels)
            net.norm()
            net.add(before)
    net.neuron()
    net.mean_time()
    net.mean_of_image()
    net.linear(case.classes)
    return net.network


def spiking_resnet(
    case: Case,
    blocks: tuple[int, int, int, int],
    bottleneck: bool = False,
    adds_spikes: bool = False,
) -> Network:
    """Builds a stem, four stages of `blocks`, and a classifier at every step, averaged over time.
    `adds_spikes`: a block's neuron stands before the sum, not after it."""
    net = Builder(case, (3, case.image, case.image))
    _layer(net, case.width, 7, 2)
    net.max_pool(3, 2, 1)
    inputs = case.width
    for stage, count in enumerate(blocks):
        inner = case.width << stage
        outputs = 4 * inner if bottleneck else inner
        for block in range(count):
            stride, before = 2 if stage and not block else 1, net.last
            shortcut = before
            if stride == 2 or inputs != outputs:
                net.conv(outputs, 1, stride, after=before)
                shortcut = net.norm()
                if adds_spikes:
                    shortcut = net.neuron()
            net.last = before
            if bottleneck:
                _layer(net, inner, 1, 1)
            _layer(net, inner, 3, stride)
            net.conv(outputs, 1 if bottleneck else 3)
            net.norm()
            if adds_spikes:
                net.neuron()
            net.add(shortcut)
            if not adds_spikes:
                net.neuron()
            inputs = outputs
    net.mean_of_image()
    net.linear(case.classes)
    net.mean_time()
    return net.network


def _layer(net: Builder, outputs: int, kernel: int, stride: int) -> None:
    net.conv(outputs, kernel, stride)
    net.norm()
    net.neuron()


@workload("spiking-resnet18", axes=AXES, small=TINY, samples=50_000)
def spiking_resnet18(case: Case) -> Network:
    """A residual network of 18 layers with a neuron behind every sum (SpikingJelly's, temporal
    fusion's)."""
    return spiking_resnet(case, (2, 2, 2, 2))


@workload("spiking-resnet34", axes=AXES, small=TINY, samples=50_000)
def spiking_resnet34(case: Case) -> Network:
    """A residual network of 34 layers with a neuron behind every sum (SpikingJelly's, temporal
    fusion's)."""
    return spiking_resnet(case, (3, 4, 6, 3))


@workload("spiking-resnet50", axes=AXES, small=TINY, samples=50_000)
def spiking_resnet50(case: Case) -> Network:
    """A residual network of 50 layers, three to a block, with a neuron behind every sum
    (SpikingJelly's, temporal fusion's)."""
    return spiking_resnet(case, (3, 4, 6, 3), bottleneck=True)


@workload("sew-resnet18", axes=AXES, small=TINY, samples=1_281_167)
def sew_resnet18(case: Case) -> Network:
    """A residual network of 18 layers with blocks that add spikes (Fang et al.'s spike-element-wise
    network)."""
    return spiking_resnet(case, (2, 2, 2, 2), adds_spikes=True)
