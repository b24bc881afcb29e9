"""A NIR graph becomes a network. NIR describes continuous time; a step of dt makes of a layer, with g = 1 - decay (of an IF dt),

    v = decay · v + W' s + b'      W' = diag(g r / threshold) W      b' = g (r b + v_leak) / threshold      spike at v ≥ 1

and of a CubaLIF the same with a synaptic current of decay 1 - dt/tau_syn, whose w_in · dt/tau_syn is a factor of W' too. All but
the decays goes into weight and bias, in float64, rounded to float32 once: neurons have the threshold 1 and no scale of their own.
"""

from dataclasses import replace
from math import exp

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from ...core.network import INPUT, Network, Node
from ..network import NetworkFault, NetworkTable
from .chain import chain_of
from .file import NirGraph, NirNode
from .layers import array, check_convolution, input_shape, over_features, uniform, weights, window

KINDS = {
    "Linear": "linear",
    "Affine": "linear",
    "Conv2d": "conv",
    "SumPool2d": "avg_pool",
    "AvgPool2d": "avg_pool",
}
ONE = np.ones(())


def network_of(graph: NirGraph, table: NetworkTable) -> Network:
    """The network of a graph, read as `table` says, with its parameters. Raises NetworkFault, naming the node, for what has no
    equivalent here."""
    first, *nodes = chain_of(graph)
    growing = _Growing(table, first)
    for node in nodes:
        growing.add(node)
    return growing.finished()


class _Growing:
    """A network up to `last`, whose features are `shape`. `factor`, of that shape or one number, is what the value of `last` is
    still to be multiplied by. `weighted` is the node with weights behind which only the nodes `between`, pools and flattens,
    stand."""

    def __init__(self, table: NetworkTable, first: NirNode):
        self.table, self.input = table, input_shape(first)
        self.nodes, self.given = list[Node](), dict[str, dict[str, np.ndarray]]()
        self.shape, self.last, self.factor = self.input, INPUT, ONE
        self.weighted: str | None = None
        self.between: list[Node] = []

    def add(self, node: NirNode) -> None:
        if node.type in ("LIF", "IF", "CubaLIF"):
            self._neuron(node)
        elif node.type in ("Linear", "Affine", "Conv2d"):
            self._weighted(node)
        elif node.type == "Scale":
            self.factor = self.factor * over_features(node, "scale", self.shape)
        elif node.type == "Flatten":
            self._flatten(node)
        else:
            self._pool(node)

    def finished(self) -> Network:
        """The network. Raises NetworkFault for one without neurons, and for weights beyond float32."""
        if not any(node.kind == "neuron" for node in self.nodes):
            raise NetworkFault("has no neuron, so that nothing spikes")
        if np.any(self.factor != 1):
            self._into_weights(self.last, self.factor, np.zeros(()))
        with np.errstate(over="ignore"):
            given = {
                name: {key: value.astype(np.float32) for key, value in own.items()}
                for name, own in self.given.items()
            }
        for name, own in given.items():
            if not all(np.isfinite(value).all() for value in own.values()):
                raise NetworkFault(f"gives {name} weights that are no finite numbers in float32")
        return Network(self.input, tuple(self.nodes), given)

    def _append(self, node: NirNode, kind: str, options: dict[str, object]) -> Node:
        """Raises NetworkFault where its input has another shape than the node reads."""
        own = Node(
            f"{kind}{1 + sum(each.kind == kind for each in self.nodes)}",
            kind,
            (self.last,),
            options,
        )
        try:
            network = Network(self.input, (*self.nodes, own))
        except ValueError as error:
            raise NetworkFault(f"node {node.name}: {str(error).partition(': ')[2]}") from None
        self.nodes.append(own)
        self.last, self.shape = own.name, network.shapes[own.name]
        return own

    def _weighted(self, node: NirNode) -> None:
        kind = KINDS[node.type]
        if len(self.shape) != (3 if kind == "conv" else 1):
            raise NetworkFault(
                f"node {node.name}: {node.type} reads features {'(C, H, W)' if kind == 'conv' else '(N,)'}, not {self.shape}"
            )
        weight, bias = weights(node, self.shape[0], 4 if kind == "conv" else 2)
        if kind == "conv":
            check_convolution(node, weight)
            factor = self._by_channel(node.name, self.factor)
            weight = weight * (factor[:, None, None] if factor.ndim else factor)
        else:
            weight = weight * self.factor
        options = {"outputs": weight.shape[0], "bias": bias is not None}
        own = self._append(
            node, kind, options | (window(node, weight.shape[2]) if kind == "conv" else {})
        )
        self.given[own.name] = {"weight": weight, **({} if bias is None else {"bias": bias})}
        self.factor, self.weighted, self.between = ONE, own.name, []

    def _flatten(self, node: NirNode) -> None:
        if len(self.shape) == 3:
            self.between.append(self._append(node, "flatten", {}))
            self.factor = self.factor.reshape(-1) if self.factor.ndim else ONE * self.factor

    def _pool(self, node: NirNode) -> None:
        options = window(node)
        if node.type == "AvgPool2d" and options["padding"]:
            raise NetworkFault(
                f"node {node.name}: NIR does not say whether a mean counts its padding; it is not imported"
            )
        if np.any(self.factor != self.factor.flat[0]):
            raise NetworkFault(
                f"node {node.name}: a Scale that is not the same everywhere stands before it, which no weights can take"
            )
        self.factor = (
            ONE * self.factor.flat[0] * (options["kernel"] ** 2 if node.type == "SumPool2d" else 1)
        )
        self.between.append(self._append(node, "avg_pool", options))

    def _neuron(self, node: NirNode) -> None:
        cuba, unit = node.type == "CubaLIF", self.table.gain == "unit"
        if "v_reset" in node.arrays and np.any(array(node, "v_reset") != 0):
            raise NetworkFault(
                f"node {node.name}: resets to v_reset, which is not 0; that is not imported"
            )
        threshold, r = (over_features(node, name, self.shape) for name in ("v_threshold", "r"))
        if np.any(threshold <= 0):
            raise NetworkFault(f"node {node.name}: v_threshold must be positive")
        decay = 1.0 if node.type == "IF" else self._decay(node, "tau_mem" if cuba else "tau")
        synapse = self._decay(node, "tau_syn") if cuba else None
        leak = self.table.dt or 1.0 if node.type == "IF" else 1 - decay
        gain = np.ones(self.shape) if unit else leak * r
        if synapse is not None and not unit:
            gain = (
                gain
                * (1 - synapse)
                * (over_features(node, "w_in", self.shape) if "w_in" in node.arrays else 1)
            )
        resting = (
            over_features(node, "v_leak", self.shape) if node.type != "IF" else np.zeros(self.shape)
        )
        if cuba and np.any(resting != 0):
            raise NetworkFault(
                f"node {node.name}: v_leak is not 0, which no bias before a synapse stands for"
            )
        if np.any(self.factor * gain == 0):
            raise NetworkFault(f"node {node.name}: r or w_in is 0, so that it never has a current")
        self._into_weights(node.name, self.factor * gain / threshold, leak * resting / threshold)
        spec = replace(self.table.neuron, decay=decay, current_decay=synapse)
        self._append(node, "neuron", {"neuron": NeuronSpec(**spec.as_dict())})
        self.factor, self.weighted, self.between = ONE, None, []

    def _decay(self, node: NirNode, name: str) -> float:
        """The decay of a step, as float32 has it: the shortest number that stands for that."""
        tau, dt = uniform(node, name, self.shape), self.table.dt or 1.0
        if tau <= 0:
            raise NetworkFault(f"node {node.name}: {name} = {tau:g} must be positive")
        decay = exp(-dt / tau) if self.table.decay == "exact" else 1 - dt / tau
        rounded = float(str(np.float32(decay)))
        if not 0 < rounded < 1:
            fits = "below" if rounded >= 1 else "above"
            raise NetworkFault(
                f"node {node.name}: with dt = {dt:g} a {name} of {tau:g} gives the decay {rounded:g}, which must be {fits} "
                f"{int(rounded >= 1)}: is dt in the unit of {name}?"
            )
        return rounded

    def _into_weights(self, name: str, factor: np.ndarray, offset: np.ndarray) -> None:
        """Multiply what the last node hands out by `factor`, and add `offset` to it, by the weights before it."""
        if self.weighted is None:
            raise NetworkFault(f"node {name}: has no weights before it that could take its scale")
        if self.between:
            factor, offset = (self._everywhere(name, values) for values in (factor, offset))
            if offset != 0 and any(node.options.get("padding") for node in self.between):
                raise NetworkFault(
                    f"node {name}: v_leak is not 0, and a pool with padding stands before it"
                )
        kind, own = (
            next(node.kind for node in self.nodes if node.name == self.weighted),
            self.given[self.weighted],
        )
        if kind == "conv":
            factor, offset = (self._by_channel(name, values) for values in (factor, offset))
        rows = factor.reshape((-1, *[1] * (own["weight"].ndim - 1))) if factor.ndim else factor
        own["weight"] = own["weight"] * rows
        bias = own.get("bias", np.zeros(len(own["weight"]))) * factor + offset
        if "bias" in own or np.any(offset != 0):
            own["bias"] = bias
            index = [node.name for node in self.nodes].index(self.weighted)
            self.nodes[index] = replace(
                self.nodes[index], options={**self.nodes[index].options, "bias": True}
            )

    @staticmethod
    def _everywhere(name: str, values: np.ndarray) -> np.ndarray:
        """Values that are the same for all features, as one number."""
        if np.any(values != values.flat[0]):
            raise NetworkFault(
                f"node {name}: its parameters differ, and a pool or flatten stands between it and the weights"
            )
        return np.full((), values.flat[0])

    @staticmethod
    def _by_channel(name: str, values: np.ndarray) -> np.ndarray:
        """Values that are the same all over a channel: one for each, or one number."""
        if values.ndim and np.any(values != values[:, :1, :1]):
            raise NetworkFault(
                f"node {name}: its parameters differ within a channel, and a convolution's weights are one for all of it"
            )
        return values[:, 0, 0] if values.ndim else values
