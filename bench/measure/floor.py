"""The least time a phase can take on a device: mandatory work over measured ceilings."""

from dataclasses import dataclass
from math import prod

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.network import INPUT, Network, Node

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "amp-bf16": 2}
"""Bytes of a number at the borders of a network."""
WINOGRAD = 4
"""How many times fewer products Winograd's F(4×4, 3×3) needs for a 3×3 convolution of stride 1 (Lavin & Gray 2016)."""
ALLOWED = {"cpu": 0.5, "cuda": 0.9}
"""A time below this share of the floor is refused as implausible."""


@dataclass(frozen=True)
class Work:
    """Floating-point operations of matrix products, and bytes, each array read or written once. The neuron's own arithmetic (a
    few operations for each element) is left out, because memory takes longer on every machine."""

    flops: float
    bytes: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)


@dataclass(frozen=True)
class Ceilings:
    """Best rates measured on the device: flops per second in the fastest format, bytes per second of a copy."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class Product:
    """The matrix product (rows × inner) · (inner × outer) of a node, of which nothing can do without 1/`savings`."""

    rows: int
    inner: int
    outer: int
    savings: int = 1

    @property
    def flops(self) -> float:
        return 2.0 * self.rows * self.inner * self.outer / self.savings


def products(case: Case, network: Network) -> dict[str, Product]:
    """The product of every linear, conv and recurrent neuron; their backward has two more of the same size."""
    return {
        node.name: _product(case, network, node)
        for node in network.nodes
        if node.kind in ("linear", "conv") or node.options.get("recurrent")
    }


def _product(case: Case, network: Network, node: Node) -> Product:
    parameters, steps = network.parameters[node.name], network.steps(node.name, case.time_steps)
    outer, *inner = parameters["recurrent" if node.kind == "neuron" else "weight"]
    if node.kind == "neuron":
        return Product((steps - 1) * case.batch, prod(inner), outer)  # nothing feeds back into the first step
    rows = steps * case.batch * prod(network.shapes[node.name][1:])
    winograd = node.kind == "conv" and (node.options["kernel"], node.options["stride"]) == (3, 1)
    return Product(rows, prod(inner), outer, WINOGRAD if winograd else 1)


def mandatory(case: Case, network: Network, phase: str) -> Work:
    """Work of one call of `phase`. What is between nodes could stay on chip, so only weights and the outer borders count."""
    size, flops = BYTES[case.precision], {name: item.flops for name, item in products(case, network).items()}
    given, handed_out = (size * count for count in border_sizes(case, network))
    weights = size * sum(prod(shape) for shapes in network.parameters.values() for shape in shapes.values() if len(shape) > 1)
    # The first layer's input needs no gradient unless the case asks for it.
    passed_on = {name: n for name, n in flops.items() if case.input_grad or INPUT not in network.node(name).inputs}
    forward = Work(sum(flops.values()), weights + given + handed_out)
    reads = (weights if passed_on else 0) + given + handed_out
    backward = Work(sum(flops.values()) + sum(passed_on.values()), reads + weights + given * case.input_grad)
    return {"forward": forward, "inference": forward, "backward": backward, "step": forward + backward}[phase]


def border_sizes(case: Case, network: Network) -> tuple[int, int]:
    """How many numbers the input and the output hold."""
    features, last = network.shapes, network.output.name
    steps = network.steps(last, case.time_steps)
    return case.time_steps * case.batch * prod(features[INPUT]), steps * case.batch * prod(features[last])


def floor(case: Case, network: Network, phase: str, ceilings: Ceilings) -> float:
    """Seconds below which no call of `phase` can end."""
    work = mandatory(case, network, phase)
    return max(work.bytes / ceilings.bytes, work.flops / ceilings.flops if work.flops else 0.0)


def implausible(case: Case, seconds: float, least: float) -> str | None:
    """Why a median time of `seconds` cannot be true given the floor `least`, or None."""
    allowed = ALLOWED[case.device.split(":")[0]]
    if seconds < allowed * least:
        return f"{seconds:.3e} s is below {allowed:g} of the floor of {least:.3e} s: the work cannot have been done"
    return None
