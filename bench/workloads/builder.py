"""Writes a network node by node, so that a workload's function reads like the paper's figure."""

from dataclasses import replace
from typing import Any

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.network import INPUT, Network, Node, Shape


class Builder:
    """Every method adds a node after the last one, or after the node `after`, and returns its name:
    the kind and a number.

        net = Builder(case, (3, 32, 32))
        net.conv(16, bias=False)
        net.norm()
        net.neuron()
        net.network  # of conv1, norm1, neuron1
    """

    def __init__(self, case: Case, features: Shape):
        self.spec, self.features, self.nodes, self.last = case.neuron, features, list[Node](), INPUT

    @property
    def network(self) -> Network:
        """The network so far. Raises ValueError as `Network` does."""
        return Network(self.features, tuple(self.nodes))

    def conv(
        self,
        outputs: int,
        kernel: int = 3,
        stride: int = 1,
        bias: bool = False,
        after: str | None = None,
        groups: int = 1,
    ) -> str:
        """Adds a convolution, padded so that a stride of 1 keeps an odd kernel's (H, W)."""
        options = {
            "outputs": outputs,
            "kernel": kernel,
            "stride": stride,
            "padding": kernel // 2,
            "bias": bias,
            "groups": groups,
        }
        return self._add("conv", after, **options)

    def linear(self, outputs: int, bias: bool = True) -> str:
        return self._add("linear", None, outputs=outputs, bias=bias)

    def norm(self) -> str:
        return self._add("norm", None)

    def neuron(
        self, recurrent: bool = False, potentials: bool = False, threshold: float = 1.0
    ) -> str:
        """Adds the case's neuron, one for each feature; `threshold` is a factor on its own."""
        spec = self.spec
        if threshold != 1 and isinstance(spec, NeuronSpec):
            spec = replace(spec, threshold=threshold * spec.threshold)
        return self._add("neuron", None, neuron=spec, recurrent=recurrent, potentials=potentials)

    def max_pool(self, kernel: int, stride: int, padding: int) -> str:
        return self._add("max_pool", None, kernel=kernel, stride=stride, padding=padding)

    def mean_of_image(self) -> str:
        """Adds the mean over all of (H, W), which must be equal, and a flatten: (C, H, W) →
        (C,)."""
        side = self.network.shapes[self.last][1]
        self._add("avg_pool", None, kernel=side, stride=side)
        return self.flatten()

    def flatten(self) -> str:
        return self._add("flatten", None)

    def reshape(self, *shape: int) -> str:
        return self._add("reshape", None, shape=shape)

    def sum(self, axis: int) -> str:
        return self._add("sum", None, axis=axis)

    def integrator(self, decay: float, normal: bool = False) -> str:
        return self._add("integrator", None, decay=decay, normal=normal)

    def mix_time(self, steps: int, order: int | None = None, sliding: bool = False) -> str:
        return self._add("mix_time", None, steps=steps, order=order, sliding=sliding)

    def delayed(self, outputs: int, most: int, sigma: float) -> str:
        return self._add("delayed", None, outputs=outputs, most=most, sigma=sigma)

    def mean_time(self) -> str:
        return self.over_time("mean_time")

    def over_time(self, kind: str) -> str:
        """Adds a node of a kind in `OVER_TIME`."""
        return self._add(kind, None)

    def add(self, other: str) -> str:
        """Adds the sum of the last node and `other`."""
        return self.of_two("add", self.last, other)

    def of_two(self, kind: str, first: str, second: str, **options: Any) -> str:
        """Adds a node of a kind in `OF_TWO`."""
        return self._append(Node(self._name(kind), kind, (first, second), options))

    def _add(self, kind: str, after: str | None, **options: Any) -> str:
        return self._append(Node(self._name(kind), kind, (after or self.last,), options))

    def _append(self, node: Node) -> str:
        self.nodes.append(node)
        self.last = node.name
        return node.name

    def _name(self, kind: str) -> str:
        return f"{kind}{1 + sum(node.kind == kind for node in self.nodes)}"
