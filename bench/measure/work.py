"""Unavoidable work of a phase: products of matrices, and arrays that must be read or written."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from snnbench.kernels.spec import NeuronSpec

from ..core.case import SPIKES, Case
from ..core.network import INPUT, OF_TWO, SAME_NUMBERS, Network, Node

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "amp-bf16": 4}
"""Bytes of a number in parameters and at the input of a network."""
SPIKE, EVENT, UPSTREAM = 1, 1 / 8, 2
"""Least bytes of a spike in a returned array of bool, of a spike that a program keeps for itself
(a bit), and of the gradient of a returned spike, which has its format."""
WINOGRAD = 4
"""Factor by which Winograd's F(4×4, 3×3) saves products in a 3×3 convolution of stride 1 (Lavin
& Gray 2016)."""
NEVER_ZERO = ("superspike", "atan", "straight-through")
"""Surrogates with a derivative that float32 never rounds to zero: gradients behind them are
dense."""
DEPENDS_ON_POTENTIAL = ("superspike", "atan", "sigmoid", "exponential")
"""Surrogates with a derivative that differs at every potential; a few bits determine that of the
others."""


@dataclass(frozen=True)
class Work:
    """Floating-point operations of matrix products, and bytes, each array read or written once.
    The neuron's own arithmetic (a few operations for each element) is left out, because memory
    takes longer on every machine."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class Product:
    """The matrix product (rows × inner) · (inner × outer) of a node, computed directly. `inside`
    is the share of its multiplications outside the padding, `savings` the factor by which an
    algorithm can do with fewer."""

    rows: int
    inner: int
    outer: int
    inside: float = 1.0
    savings: int = 1

    def flops(self, share: float) -> float:
        """Operations for a share of nonzero values. An addition counts as much as a
        multiply-add, because it takes the place of one in a device."""
        return (
            2.0 * self.rows * self.inner * self.outer * min(self.inside * share, 1 / self.savings)
        )


def products(case: Case, network: Network) -> dict[str, Product]:
    """Returns the product of every linear, conv and recurrent neuron; each backward has two more
    of the same size."""
    return {
        node.name: _product(case, network, node)
        for node in network.nodes
        if node.kind in ("linear", "conv") or node.options.get("recurrent")
    }


def _product(case: Case, network: Network, node: Node) -> Product:
    parameters, steps = network.parameters[node.name], network.steps(node.name, case.time_steps)
    outer, *inner = parameters["recurrent" if node.kind == "neuron" else "weight"]
    if node.kind == "neuron":
        return Product((steps - 1) * case.batch, prod(inner), outer)  # no feedback into step 0
    rows = steps * case.batch * prod(network.shapes[node.name][1:])
    if node.kind == "linear":
        return Product(rows, prod(inner), outer)
    sides = zip(network.shapes[node.inputs[0]][1:], network.shapes[node.name][1:], strict=True)
    inside = prod(_inside(side, places, node.options) for side, places in sides)
    winograd = (node.options["kernel"], node.options["stride"]) == (3, 1)
    return Product(rows, prod(inner), outer, inside, WINOGRAD if winograd else 1)


def _inside(side: int, places: int, options: Mapping[str, int]) -> float:
    """Share of a kernel's taps that lie inside an image, over all places along one side."""
    kernel, stride, padding = options["kernel"], options["stride"], options["padding"]
    taps = (place * stride + tap - padding for place in range(places) for tap in range(kernel))
    return sum(0 <= tap < side for tap in taps) / (places * kernel)


def mandatory(case: Case, network: Network, phase: str, nonzero: float) -> Work:
    """Returns the work of one call of `phase`. `nonzero` is the share of nonzero values in the
    input: only their products are needed.

    Products of spikes (of a neuron, or of an input declared as spikes) do not count: zeros need
    none, and tables of partial sums save most additions of ones. Nor do those with an unknown share
    of zeros: behind pools and sums, and for gradients behind a surrogate that is zero somewhere.

    Values between nodes could stay on chip, so that only weights and the outer borders are moved.
    """
    forward, backward = _flops(case, network, nonzero)
    flops = {
        "forward": forward,
        "inference": forward,
        "backward": backward,
        "step": forward + backward,
        "optimizer": 0.0,
    }[phase]
    return Work(flops, _bytes(case, network, phase, nonzero))


def _flops(case: Case, network: Network, nonzero: float) -> tuple[float, float]:
    """Returns the operations of forward and of backward."""
    forward = backward = 0.0
    for name, product in products(case, network).items():
        node = network.node(name)
        below = name if node.kind == "neuron" else _source(network, node)
        share = _least_share(case, network, below if node.kind != "neuron" else None, nonzero)
        reader = node if node.kind == "neuron" else _reader(network, node)
        if reader:
            forward += product.flops(share)
        if reader and _passes_all(reader) and _reached(network, reader):
            asked = (
                case.input_grad
                if below == INPUT
                else below is not None and _passes_all(network.node(below))
            )
            backward += product.flops(share) + (product.flops(1.0) if asked else 0.0)
    return forward, backward


def _least_share(case: Case, network: Network, below: str | None, nonzero: float) -> float:
    """Unavoidable share of the multiplications with values of the node `below`."""
    if below == INPUT:
        return 0.0 if case.input in SPIKES else nonzero
    return 1.0 if below and network.node(below).options["potentials"] else 0.0


def _source(network: Network, node: Node) -> str | None:
    """Returns the neuron, or INPUT, of the unchanged values that a node reads, else None."""
    name = node.inputs[0]
    while name != INPUT and network.node(name).kind in SAME_NUMBERS:
        name = network.node(name).inputs[0]
    return name if name == INPUT or network.node(name).kind == "neuron" else None


def _reader(network: Network, node: Node) -> Node | None:
    """Returns the only neuron that a node's values reach, one by one, or the node itself if it
    is the output. None otherwise: a sum or mean of products can be had with fewer."""
    last = node
    while (
        last.kind != "neuron"
        and len(readers := network.readers[last.name]) == 1
        and readers[0].kind not in OF_TWO
    ):
        if readers[0].kind not in ("norm", "neuron", *SAME_NUMBERS):
            return None
        (last,) = readers
    return last if last.kind == "neuron" or last is network.output else None


def _passes_all(node: Node) -> bool:
    """Tells if the output or a neuron passes gradients at every value."""
    return node.kind != "neuron" or node.options["potentials"] or _surrogate(node) in NEVER_ZERO


def _reached(network: Network, node: Node) -> bool:
    """Tells if a node's value has a gradient everywhere: behind a maximum it has not."""
    if node is network.output:
        return True
    for reader in network.readers[node.name]:
        spread = reader.kind in ("linear", "conv", "norm", "avg_pool", "mean_time")
        if (
            spread
            and reader.options.get("kernel", 1) >= reader.options.get("stride", 1)
            and _at_every_step(network, reader)
        ):
            return True
        one_by_one = reader.kind in (*SAME_NUMBERS, "add", "sum", "integrator", "vote")
        if one_by_one and _reached(network, reader):
            return True
    return False


def _at_every_step(network: Network, node: Node) -> bool:
    """Tells if a node's value has a gradient at every step: behind a maximum or a softmax over
    time, a last step, and beside a factor that may be zero, it need not."""
    if node is network.output or node.kind == "mean_time":
        return True
    return any(
        reader.kind not in ("max_time", "softmax_sum", "last_time", "multiply", "product")
        and _at_every_step(network, reader)
        for reader in network.readers[node.name]
    )


def _surrogate(node: Node) -> str | None:
    """Returns None for a native neuron, and for the window of one that rounds."""
    neuron = node.options["neuron"]
    known = isinstance(neuron, NeuronSpec) and neuron.rounding is None
    return neuron.surrogate if known else None


def _bytes(case: Case, network: Network, phase: str, nonzero: float) -> float:
    """Returns the bytes that one call of `phase` reads and writes, if it keeps what fits on chip
    and packs what it keeps for backward."""
    size, short = BYTES[case.precision], _short(case)
    inputs, outputs = border_sizes(case, network)
    spikes = network.output.kind == "neuron" and not network.output.options["potentials"]
    given, handed_out = size * inputs, outputs * (SPIKE if spikes else short)
    upstream = outputs * (UPSTREAM if spikes else short)
    weights = sum(
        prod(shape)
        for shapes in network.parameters.values()
        for shape in shapes.values()
        if len(shape) > 1
    )
    if phase in ("forward", "inference"):
        return size * weights + given + handed_out
    written = size * weights + given * case.input_grad
    if phase == "optimizer":
        return 3 * size * weights  # gradients and parameters read, and parameters written
    if phase == "step":
        return size * weights + given + handed_out + upstream + written
    # The first layer's input needs no gradient unless the case asks for it.
    passed_on = any(
        case.input_grad or INPUT not in network.node(name).inputs
        for name in products(case, network)
    )
    return short * weights * passed_on + _kept(case, network, nonzero) * inputs + upstream + written


def _short(case: Case) -> int:
    """Bytes of a number in the format of the computation: autocast keeps short copies."""
    return 2 if case.precision == "amp-bf16" else BYTES[case.precision]


def _kept(case: Case, network: Network, nonzero: float) -> float:
    """Bytes of each number of the input that backward needs, however forward packed them."""
    first, *others = network.readers[INPUT]
    if others or first.kind not in ("linear", "conv", "neuron"):
        return 0.0
    if first.kind == "neuron":
        return _short(case) * nonzero if _surrogate(first) in DEPENDS_ON_POTENTIAL else 0.0
    if case.input == "images":
        return _short(case) / case.time_steps  # every step has the same
    return EVENT if case.input in SPIKES else _short(case)


def border_sizes(case: Case, network: Network) -> tuple[int, int]:
    """Returns the numbers of values in the input and in the output."""
    features, last = network.shapes, network.output.name
    steps = network.steps(last, case.time_steps)
    return case.time_steps * case.batch * prod(features[INPUT]), steps * case.batch * prod(
        features[last]
    )
