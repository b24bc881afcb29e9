"""Converts a NIR graph to a network. NIR describes continuous time. With a step of dt, a layer
computes

    v = decay · v + W' s + b'      spike at v ≥ 1
    W' = diag(g r / threshold) W      b' = g (r b + v_leak) / threshold      g = 1 - decay (IF: dt)

A CubaLIF has in addition a synaptic current with decay 1 - dt/tau_syn, and the factor w_in ·
dt/tau_syn in W'. LI and I are integrators: v without a spike and without a threshold. Weight and
bias take all but the decays, in float64, rounded to float32 once: neurons have the threshold 1 and
no scale."""

from dataclasses import replace
from math import exp

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from ...core.network import INPUT, Network, Node
from ..network import NetworkFault, NetworkTable
from .chain import chain_of
from .file import NirGraph, NirNode
from .layers import (
    array,
    check_convolution,
    groups,
    input_shape,
    over_features,
    uniform,
    weights,
    window,
)

KINDS = {
    "Linear": "linear",
    "Affine": "linear",
    "Conv2d": "conv",
    "SumPool2d": "avg_pool",
    "AvgPool2d": "avg_pool",
}
ONE = np.ones(())


def network_of(graph: NirGraph, table: NetworkTable) -> Network:
    """Returns the network of a graph, read as `table` says, with its parameters. Raises
    NetworkFault, with the node, if there is no equivalent here."""
    first, *nodes = chain_of(graph)
    builder = _Builder(table, first)
    for node in nodes:
        builder.add(node)
    return builder.finish()


class _Builder:
    """A network up to the node `last` with features `shape`. `factor`, of that shape or one number,
    still has to multiply the value of `last`. `weighted` is the last node with weights, unless
    other nodes follow it than `between`, pools and flattens."""

    def __init__(self, table: NetworkTable, first: NirNode):
        self.table, self.input = table, input_shape(first)
        self.nodes, self.parameters = list[Node](), dict[str, dict[str, np.ndarray]]()
        self.shape, self.last, self.factor = self.input, INPUT, ONE
        self.weighted: str | None = None
        self.between: list[Node] = []

    def add(self, node: NirNode) -> None:
        if node.type in ("LIF", "IF", "CubaLIF"):
            self._neuron(node)
        elif node.type in ("LI", "I"):
            self._integrator(node)
        elif node.type in ("Linear", "Affine", "Conv2d"):
            self._weighted(node)
        elif node.type == "Scale":
            self.factor = self.factor * over_features(node, "scale", self.shape)
        elif node.type == "Flatten":
            self._flatten(node)
        else:
            self._pool(node)

    def finish(self) -> Network:
        """Raises NetworkFault for a network without neurons, and for weights beyond float32."""
        if not any(node.kind == "neuron" for node in self.nodes):
            raise NetworkFault("has no neuron, so that nothing spikes")
        if np.any(self.factor != 1):
            self._into_weights(self.last, self.factor, np.zeros(()))
        with np.errstate(over="ignore"):
            parameters = {
                name: {key: value.astype(np.float32) for key, value in arrays.items()}
                for name, arrays in self.parameters.items()
            }
        for name, arrays in parameters.items():
            if not all(np.isfinite(value).all() for value in arrays.values()):
                raise NetworkFault(f"gives {name} weights that are no finite numbers in float32")
        return Network(self.input, tuple(self.nodes), parameters)

    def _append(self, node: NirNode, kind: str, options: dict[str, object]) -> Node:
        """Raises NetworkFault if the node cannot read the shape of its input."""
        name = f"{kind}{1 + sum(each.kind == kind for each in self.nodes)}"
        added = Node(name, kind, (self.last,), options)
        try:
            network = Network(self.input, (*self.nodes, added))
        except ValueError as error:
            raise node.fault(f"{str(error).partition(': ')[2]}") from None
        self.nodes.append(added)
        self.last, self.shape = name, network.shapes[name]
        return added

    def _weighted(self, node: NirNode) -> None:
        kind = KINDS[node.type]
        dimensions, features = (3, "(C, H, W)") if kind == "conv" else (1, "(N,)")
        if len(self.shape) != dimensions:
            raise node.fault(f"{node.type} reads features {features}, not {self.shape}")
        count = groups(node) if kind == "conv" else 1
        weight, bias = weights(node, self.shape[0], dimensions + 1, count)
        if kind == "conv":
            check_convolution(node, weight)
            factor = self._by_channel(node.name, self.factor)
            if factor.ndim:
                of_group = factor.reshape(count, -1)
                factor = np.repeat(of_group, len(weight) // count, axis=0)[..., None, None]
            weight = weight * factor
        else:
            weight = weight * self.factor
        options: dict[str, object] = {"outputs": weight.shape[0], "bias": bias is not None}
        if count > 1:
            options["groups"] = count
        name = self._append(
            node, kind, options | (window(node, weight.shape[2]) if kind == "conv" else {})
        ).name
        self.parameters[name] = {"weight": weight, **({} if bias is None else {"bias": bias})}
        self.factor, self.weighted, self.between = ONE, name, []

    def _flatten(self, node: NirNode) -> None:
        if len(self.shape) == 3:
            self.between.append(self._append(node, "flatten", {}))
            self.factor = self.factor.reshape(-1) if self.factor.ndim else ONE * self.factor

    def _pool(self, node: NirNode) -> None:
        options = window(node)
        if node.type == "AvgPool2d" and options["padding"]:
            raise node.fault(
                "NIR does not say whether a mean counts its padding; it is not imported"
            )
        if np.any(self.factor != self.factor.flat[0]):
            raise node.fault(
                "a Scale that is not the same everywhere stands before it, "
                "which no weights can take"
            )
        self.factor = (
            ONE * self.factor.flat[0] * (options["kernel"] ** 2 if node.type == "SumPool2d" else 1)
        )
        self.between.append(self._append(node, "avg_pool", options))

    def _neuron(self, node: NirNode) -> None:
        cuba, unit = node.type == "CubaLIF", self.table.gain == "unit"
        if "v_reset" in node.arrays and np.any(array(node, "v_reset") != 0):
            raise node.fault("resets to v_reset, which is not 0; that is not imported")
        threshold, r = (over_features(node, name, self.shape) for name in ("v_threshold", "r"))
        if np.any(threshold <= 0):
            raise node.fault("v_threshold must be positive")
        decay = 1.0 if node.type == "IF" else self._decay(node, "tau_mem" if cuba else "tau")
        synapse = self._decay(node, "tau_syn") if cuba else None
        leak = self.table.dt or 1.0 if node.type == "IF" else 1 - decay
        gain = np.ones(self.shape) if unit else leak * r
        if synapse is not None and not unit:
            w_in = over_features(node, "w_in", self.shape) if "w_in" in node.arrays else 1
            gain = gain * (1 - synapse) * w_in
        resting = (
            over_features(node, "v_leak", self.shape) if node.type != "IF" else np.zeros(self.shape)
        )
        if cuba and np.any(resting != 0):
            raise node.fault("v_leak is not 0, which no bias before a synapse stands for")
        if np.any(self.factor * gain == 0):
            raise node.fault("r or w_in is 0, so that it never has a current")
        self._into_weights(node.name, self.factor * gain / threshold, leak * resting / threshold)
        spec = replace(self.table.neuron, decay=decay, current_decay=synapse)
        self._append(node, "neuron", {"neuron": NeuronSpec(**spec.as_dict())})
        self.factor, self.weighted, self.between = ONE, None, []

    def _integrator(self, node: NirNode) -> None:
        r = over_features(node, "r", self.shape)
        decay, leak, resting = 1.0, self.table.dt or 1.0, np.zeros(self.shape)
        if node.type == "LI":
            decay = self._decay(node, "tau")
            leak, resting = 1 - decay, over_features(node, "v_leak", self.shape)
        gain = np.ones(self.shape) if self.table.gain == "unit" else leak * r
        self._into_weights(node.name, self.factor * gain, leak * resting)
        self._append(node, "integrator", {"decay": decay})
        self.factor, self.weighted, self.between = ONE, None, []

    def _decay(self, node: NirNode, name: str) -> float:
        """Returns the decay of a step, rounded to float32, as the shortest number that rounds to
        it."""
        tau, dt = uniform(node, name, self.shape), self.table.dt or 1.0
        if tau <= 0:
            raise node.fault(f"{name} = {tau:g} must be positive")
        decay = exp(-dt / tau) if self.table.decay == "exact" else 1 - dt / tau
        with np.errstate(over="ignore"):
            rounded = float(str(np.float32(decay)))
        if not 0 < rounded < 1:
            fits = "below" if rounded >= 1 else "above"
            raise node.fault(
                f"with dt = {dt:g} a {name} of {tau:g} gives the decay "
                f"{rounded:g}, which must be {fits} {int(rounded >= 1)}: "
                f"is dt in the unit of {name}?"
            )
        return rounded

    def _into_weights(self, name: str, factor: np.ndarray, offset: np.ndarray) -> None:
        """Scales the last node's value by `factor` and adds `offset`, in the weights before it."""
        if self.weighted is None:
            raise NetworkFault(f"node {name}: has no weights before it that could take its scale")
        if self.between:
            factor, offset = (self._everywhere(name, values) for values in (factor, offset))
            if offset != 0 and any(node.options.get("padding") for node in self.between):
                raise NetworkFault(
                    f"node {name}: v_leak is not 0, and a pool with padding stands before it"
                )
        index = [node.name for node in self.nodes].index(self.weighted)
        weighted, arrays = self.nodes[index], self.parameters[self.weighted]
        if weighted.kind == "conv":
            factor, offset = (self._by_channel(name, values) for values in (factor, offset))
        weight = arrays["weight"]
        rows = factor.reshape((-1, *[1] * (weight.ndim - 1))) if factor.ndim else factor
        arrays["weight"] = weight * rows
        if "bias" in arrays or np.any(offset != 0):
            arrays["bias"] = arrays.get("bias", np.zeros(len(weight))) * factor + offset
            self.nodes[index] = replace(weighted, options={**weighted.options, "bias": True})

    @staticmethod
    def _everywhere(name: str, values: np.ndarray) -> np.ndarray:
        """Returns the one number of values that are the same for all features."""
        if np.any(values != values.flat[0]):
            raise NetworkFault(
                f"node {name}: its parameters differ, "
                "and a pool or flatten stands between it and the weights"
            )
        return np.full((), values.flat[0])

    @staticmethod
    def _by_channel(name: str, values: np.ndarray) -> np.ndarray:
        """Returns one number, or one per channel, of values that are uniform within channels."""
        if values.ndim and np.any(values != values[:, :1, :1]):
            raise NetworkFault(
                f"node {name}: its parameters differ within a channel, "
                "and a convolution's weights are one for all of it"
            )
        return values[:, 0, 0] if values.ndim else values
