"""Spiking transformers: `spikformer-block`, `sdt-block`, `sdt-v3-block` and `spikformer`.

Tokens are the pixels of an image, so that a linear of every token is a convolution of 1 × 1. Zhou
et al.'s Spikformer (ICLR 2023, `cifar10/model.py`) multiplies the spikes of queries, keys and
values without a softmax: sums of whole numbers, times 1/8. The neuron behind them has the threshold
½ and counts half of its input; here it is 1 for all of it. Many potentials would lie exactly on it,
where frameworks that fire above and at a threshold compute two networks (docs/ties.md). It is
therefore lowered by 2⁻¹¹, so that at a decay of ½ no sum of eighths meets it in eight steps.

Yao et al.'s spike-driven transformer (NeurIPS 2023, `module/ms_conv.py`) sums the products of keys
and values, number by number, over the tokens, and adds potentials in place of spikes. Its neuron
has the same threshold, and its currents are multiples of 1.

Its third version (Yao et al., TPAMI 2025, `SDT_V3/Classification/Model_Base/models.py`) fires whole
numbers 0 to 4 without a memory, `{ reset = "none", decay = 0.0, rounding = "nearest", max_spikes =
4, surrogate = "straight-through" }`, and hands out their quarters. Here they are handed out whole:
norms take the factor back, and the scale of the attention, 2/√features, is divided by 4³.

The published sizes are width = 384, heads = 12, layers = 4, image = 32 (of a block: 8), T = 4, B =
128; of `sdt-block` width = 256, heads = 8, B = 64; of `sdt-v3-block` width = 64 to 256, heads = 8.
"""

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.network import Network
from .base import workload
from .builder import Builder

SCALE, BELOW = 1 / 8, 1 - 2**-11
"""Factor on the products of queries, keys and values; threshold of the neuron behind them."""
HIDDEN = 4
"""Width of the perceptron in a block, and of the values of `sdt-v3-block`, as a multiple of the
block's."""
AXES = ("width", "heads", "image")
SMALL = {"time_steps": 4, "batch": 3, "width": 42, "heads": 2, "image": 7}


@workload("spikformer-block", axes=AXES, small=SMALL)
def spikformer_block(case: Case) -> Network:
    """A block of Spikformer: self-attention of spikes in `heads` and a perceptron, each added to
    its input."""
    net = Builder(case, (case.width, case.image, case.image))
    _spikformer(net, case, case.image)
    return net.network


@workload("sdt-block", axes=AXES, small=SMALL)
def sdt_block(case: Case) -> Network:
    """A block of the spike-driven transformer behind a convolution: attention by sums over tokens
    in `heads` and a perceptron, each added to the potentials before it."""
    net = Builder(case, (case.width, case.image, case.image))
    net.conv(case.width, kernel=1)
    before = net.norm()
    spikes = net.neuron()
    query, key, value = (_in_heads(net, case, case.image, spikes) for _ in range(3))
    net.of_two("multiply", key, value)
    net.sum(2)
    mask = net.neuron(threshold=BELOW)
    net.of_two("multiply", query, mask)
    net.reshape(case.width, case.image, case.image)
    net.conv(case.width, kernel=1)
    net.norm()
    before = net.add(before)
    _potentials(net, HIDDEN * case.width)
    _potentials(net, case.width)
    net.add(before)
    return net.network


@workload("sdt-v3-block", axes=AXES, small=SMALL)
def sdt_v3_block(case: Case) -> Network:
    """A block of the spike-driven transformer V3 behind a convolution: a separable convolution,
    attention in `heads` with values four times as wide and a perceptron, each added to the
    potentials before it."""
    net = Builder(case, (case.width, case.image, case.image))
    net.conv(case.width, kernel=1)
    before = net.norm()
    _potentials(net, 2 * case.width)
    _potentials(net, 2 * case.width, kernel=3, groups=2 * case.width)
    _potentials(net, case.width)
    before = net.add(before)
    spikes = net.neuron()
    query, key = (_in_heads(net, case, case.image, spikes) for _ in range(2))
    value = _in_heads(net, case, case.image, spikes, wider=HIDDEN)
    most = case.neuron.max_spikes if isinstance(case.neuron, NeuronSpec) else 1
    _attend(net, query, key, value, 2 * (case.width // case.heads) ** -0.5 / most**3)
    net.reshape(HIDDEN * case.width, case.image, case.image)
    net.conv(case.width, kernel=1)
    net.norm()
    before = net.add(before)
    _potentials(net, HIDDEN * case.width)
    _potentials(net, case.width)
    net.add(before)
    return net.network


@workload(
    "spikformer",
    axes=("layers", *AXES, "classes"),
    small={
        "time_steps": 4,
        "batch": 3,
        "layers": 1,
        "width": 40,
        "heads": 2,
        "image": 25,
        "classes": 7,
    },
    samples=50_000,
)
def spikformer(case: Case) -> Network:
    """Spikformer: five convolutions, two of them with pools, make tokens of 4 × 4 pixels; then
    `layers` blocks, and a classifier of the mean over tokens and time."""
    net = Builder(case, (3, case.image, case.image))
    for share in (8, 4, 2, 1):
        _layer(net, case.width // share, kernel=3)
        if share <= 2:
            net.max_pool(3, 2, 1)
    before = net.last
    _layer(net, case.width, kernel=3)
    net.add(before)
    for _ in range(case.layers):
        _spikformer(net, case, net.network.shapes[net.last][1])
    net.mean_time()
    net.mean_of_image()
    net.linear(case.classes)
    return net.network


def _spikformer(net: Builder, case: Case, image: int) -> None:
    before = net.last
    query, key, value = (_in_heads(net, case, image, before) for _ in range(3))
    _attend(net, query, key, value, SCALE)
    net.reshape(case.width, image, image)
    _layer(net, case.width)
    before = net.add(before)
    _layer(net, HIDDEN * case.width)
    _layer(net, case.width)
    net.add(before)


def _attend(net: Builder, query: str, key: str, value: str, scale: float) -> None:
    """Adds the spikes of values summed over all tokens, by the products of queries and keys."""
    scores = net.of_two("product", query, key, left=True)
    net.of_two("product", value, scores, scale=scale, right=True)
    net.neuron(threshold=BELOW)


def _in_heads(net: Builder, case: Case, image: int, before: str, wider: int = 1) -> str:
    """Adds spikes (heads, features, tokens) of the node `before`."""
    features, rest = divmod(case.width, case.heads)
    if rest:
        raise ValueError(f"width = {case.width} is no multiple of heads = {case.heads}")
    _layer(net, wider * case.width, after=before)
    return net.reshape(case.heads, wider * features, image**2)


def _layer(net: Builder, width: int, kernel: int = 1, after: str | None = None) -> None:
    net.conv(width, kernel, after=after)
    net.norm()
    net.neuron()


def _potentials(net: Builder, width: int, kernel: int = 1, groups: int = 1) -> None:
    """Adds a layer from potentials to potentials: its neuron stands in front."""
    net.neuron()
    net.conv(width, kernel, groups=groups)
    net.norm()
