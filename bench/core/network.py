"""A network as data: named nodes in the order in which they are computed.

The oracle, the programs of torch and JAX, the floor and the limits read this one description.
Values of nodes are (T, B, *features): T time steps, B batch items, features (N,) or (C, H, W).

    Network((5,), (
        Node("linear1", "linear", ("input",), {"outputs": 7}),
        Node("neuron1", "neuron", ("linear1",), {"neuron": NeuronSpec()}),
    ))

kind        what it computes
linear      x · weightᵀ + bias
conv        2-d cross-correlation with zero padding, square kernel, plus bias; the channels of each
            of `groups` equal parts see their own part of the input's
norm        batch norm: mean and biased variance over T, B, H, W; running statistics take the
            unbiased one. An inference normalises by its running statistics
max_pool    maximum over square windows; of equal values the first in row-major order has the
            gradient
avg_pool    mean over square windows
flatten     (C, H, W) → (C·H·W,)
reshape     the same numbers in another `shape`, (N,) or (C, H, W), in row-major order
add         the sum of two nodes
multiply    the product of two nodes, number by number; an axis of 1 is repeated
product     scale · (matrix product) of two nodes, (C, M, K) · (C, K, P) → (C, M, P); with `left` or
            `right` that factor is transposed first
sum         the sum over an `axis` of the features, which stays with length 1
mix_time    over time h = W · x + b: W (steps, steps), of an `order` those of the last `order` steps
            alone, else later steps count too; b one for each step. With `sliding` W is the same at
            every step, weight[order − 1 − i] · x[t − i] summed over i, and b one number
delayed     y[t] = Σ weight · k[d] · x[t − d] over inputs and delays d below `most`: each of
            `outputs` hears each input at its own `delay` τ, spread as a Gaussian, k[d] = e[d] /
            (Σ e + 1e-7), e[d] = exp(−½((d − τ)/σ)²), σ = `sigma` (DCLS, Hammouamri et al. 2024)
integrator  v[t] = decay · v[t-1] + x[t] from 0; with `normal` x counts 1 - decay. Its value is v:
            it neither spikes nor resets
mean_time   the mean over time: T becomes 1, here and in the next three
max_time    the maximum over time; of equal values the first has the gradient
softmax_sum the sum over time of softmax(x[t]) over the features (Bittar & Garner 2022)
last_time   the last step
vote        the mean of each `group` of neighbours: (G·group,) → (G,)
neuron      spikes s of its currents. With `recurrent`, s[t-1] · recurrentᵀ is added to the
            currents of step t. With `potentials` its value is v, the potentials before the
            spike, in place of the spikes, which still reset it

A linear or conv in front of a norm has no bias: the norm removes it, and its gradient, exactly 0,
cannot be judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import frexp, inf, prod
from typing import TYPE_CHECKING, Any

from snnbench.kernels.spec import NeuronSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS: dict[str, str] = {}
"""Texts of the config's networks by reference; every worker receives them in its job."""
INPUT = "input"
"""The name of the network's input."""

REQUIRED = "required"

OPTIONS: dict[str, dict[str, Any]] = {
    "linear": {"outputs": REQUIRED, "bias": True},
    "conv": {
        **{"outputs": REQUIRED, "kernel": REQUIRED, "stride": 1, "padding": 0, "bias": True},
        "groups": 1,
    },
    "norm": {"epsilon": 1e-5, "momentum": 0.1},
    "max_pool": {"kernel": REQUIRED, "stride": REQUIRED, "padding": 0},
    "avg_pool": {"kernel": REQUIRED, "stride": REQUIRED, "padding": 0},
    "flatten": {},
    "reshape": {"shape": REQUIRED},
    "add": {},
    "multiply": {},
    "product": {"scale": 1.0, "left": False, "right": False},
    "sum": {"axis": REQUIRED},
    "mix_time": {"steps": REQUIRED, "order": None, "sliding": False},
    "delayed": {"outputs": REQUIRED, "most": REQUIRED, "sigma": REQUIRED},
    "integrator": {"decay": REQUIRED, "normal": False},
    "mean_time": {},
    "max_time": {},
    "softmax_sum": {},
    "last_time": {},
    "vote": {"group": REQUIRED},
    "neuron": {"neuron": REQUIRED, "recurrent": False, "potentials": False},
}
"""The options of each kind of node and their defaults. `neuron` is a NeuronSpec or NATIVE."""

LEAST = {
    **{"outputs": 1, "kernel": 1, "stride": 1, "padding": 0, "group": 1, "groups": 1, "axis": 0},
    **{"steps": 1, "order": 1, "most": 1},
}
"""Least values of options that are whole numbers."""

LAYERS = ("linear", "conv", "max_pool", "avg_pool")
"""Kinds of nodes that compute every time step alike and independently."""

OVER_TIME = ("mean_time", "max_time", "softmax_sum", "last_time")
"""Kinds of nodes with one step for all that they read."""

SAME_NUMBERS = ("flatten", "reshape")
"""Kinds of nodes that change the shape alone."""

OF_TWO = ("add", "multiply", "product")
"""Kinds of nodes that read two nodes."""

Shape = tuple[int, ...]


def _counts(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_features(shape: Any) -> bool:
    return isinstance(shape, tuple | list) and bool(shape) and all(map(_counts, shape))


@dataclass(frozen=True)
class Node:
    """One operation: its name, kind, the nodes it reads, and its options, completed by the
    defaults. Raises ValueError for an unknown kind or option, and for a missing option."""

    name: str
    kind: str
    inputs: tuple[str, ...] = (INPUT,)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in OPTIONS:
            raise self.fault(f"there is no kind {self.kind!r} (there are {', '.join(OPTIONS)})")
        known = OPTIONS[self.kind]
        for option in self.options:
            if option not in known:
                raise self.fault(
                    f"{self.kind} has no option {option!r} (it has {', '.join(known) or 'none'})"
                )
        filled = {**known, **self.options}
        for option, value in filled.items():
            if value is REQUIRED:
                raise self.fault(f"{self.kind} needs the option {option!r}")
        for option, least in LEAST.items():
            if filled.get(option) is not None and not _counts(filled[option], least):
                wanted = f"must be a whole number from {least}"
                raise self.fault(f"{option} = {filled[option]!r} {wanted}")
        if self.kind == "integrator":
            self._check_decay(filled["decay"], filled["normal"])
        if self.kind == "mix_time" and filled["sliding"] and filled["order"] is None:
            raise self.fault("a sliding mix needs an order")
        if self.kind == "reshape":
            shape = filled["shape"]
            if not (_is_features(shape) and len(shape) in (1, 3)):
                raise self.fault(
                    f"shape = {shape!r} must be (N,) or (C, H, W), whole numbers from 1"
                )
            filled["shape"] = tuple(shape)
        for option in ("scale", "sigma"):
            value = filled.get(option, 1.0)
            if not isinstance(value, float | int) or isinstance(value, bool) or not 0 < value < inf:
                raise self.fault(f"{option} = {value!r} must be a number above 0")
        if isinstance(self.inputs, str):
            name = self.inputs
            raise self.fault(f"inputs = {name!r} must be a tuple of names, as ({name!r},)")
        if len(self.inputs) != (reads := 2 if self.kind in OF_TWO else 1):
            raise self.fault(f"{self.kind} reads {reads} nodes, not {len(self.inputs)}")
        if len({*self.inputs}) < reads:
            raise self.fault(f"{self.kind} reads {self.inputs[0]} twice")
        object.__setattr__(self, "options", filled)

    def _check_decay(self, decay: Any, normal: Any) -> None:
        if not isinstance(decay, float | int) or isinstance(decay, bool) or not 0 < decay <= 1:
            raise self.fault(f"decay = {decay!r} must be a number above 0, at most 1")
        if normal and decay == 1:
            raise self.fault("with decay = 1 a normal integrator multiplies its input by 0")

    def fault(self, text: str) -> ValueError:
        return ValueError(f"node {self.name}: {text}")


@dataclass(frozen=True)
class Network:
    """Nodes that compute the last one's value from an input of features `input`, each after the
    nodes it reads. Raises ValueError, naming the node, for a name that stands twice or not before
    its reader, for shapes that do not fit, and for a bias in front of a norm.

    `given` are float32 parameters by node and name, of the shapes in `parameters`; nodes without an
    entry get seeded ones."""

    input: Shape
    nodes: tuple[Node, ...]
    given: "Mapping[str, Mapping[str, NDArray[Any]]]" = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("a network has at least one node")
        if not (isinstance(self.input, tuple) and _is_features(self.input)):
            raise ValueError(
                f"input = {self.input!r} must be features (N,) or (C, H, W), whole numbers from 1"
            )
        seen = {INPUT}
        for node in self.nodes:
            for name in node.inputs:
                if name not in seen:
                    raise node.fault(f"reads {name!r}, which does not stand before it")
            if node.name in seen:
                raise node.fault("the name stands twice")
            seen.add(node.name)
            if len({self.steps(name, 2) for name in node.inputs}) > 1:
                raise node.fault("reads a value of all time steps and a value of one")
            before = None if node.inputs[0] == INPUT else self.node(node.inputs[0])
            if node.kind == "norm" and before is not None and before.options.get("bias"):
                raise before.fault("has a bias in front of a norm; its gradient is exactly 0")
        self.shapes  # noqa: B018 raises for shapes that do not fit
        for name, arrays in self.given.items():
            expected = self.parameters.get(name, {})
            shapes = {key: tuple(array.shape) for key, array in arrays.items()}
            if shapes != expected:
                raise ValueError(
                    f"node {name}: the parameters that are given have the shapes {shapes}, "
                    f"not {expected}"
                )

    def node(self, name: str) -> Node:
        """Returns the node of that name. Raises KeyError."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @property
    def output(self) -> Node:
        """The last node, with the network's value."""
        return self.nodes[-1]

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Features of the input and of every node's value, without T and B."""
        shapes = {INPUT: self.input}
        for node in self.nodes:
            shapes[node.name] = _shape(node, [shapes[name] for name in node.inputs])
        return shapes

    @cached_property
    def neurons(self) -> tuple[str, ...]:
        """Names of the neurons, first to last: the proof judges their values."""
        return tuple(node.name for node in self.nodes if node.kind == "neuron")

    @cached_property
    def specs(self) -> tuple[NeuronSpec, ...]:
        """The different neurons in the order of the nodes, without native ones."""
        neurons = (self.node(name).options["neuron"] for name in self.neurons)
        return tuple(dict.fromkeys(neuron for neuron in neurons if isinstance(neuron, NeuronSpec)))

    def has_neuron(self, *options: str) -> bool:
        """Returns whether a neuron has all of these options, such as `recurrent`."""
        return any(
            all(node.options[option] for option in options)
            for node in self.nodes
            if node.kind == "neuron"
        )

    def is_whole(self, name: str) -> bool:
        """Tells if a node's values follow from spikes alone and are whole numbers, times a power of
        two: every order of summation gives the same bits in float32, below 2²⁴."""
        if name == INPUT:
            return False
        node = self.node(name)
        if node.kind == "neuron":
            return not node.options["potentials"]
        return (
            node.kind in (*OF_TWO, *SAME_NUMBERS, "sum")
            and frexp(node.options.get("scale", 1.0))[0] == 0.5
            and all(map(self.is_whole, node.inputs))
        )

    @property
    def looks_ahead(self) -> bool:
        """Tells if a step's value depends on later steps of the input."""
        return any(node.kind == "mix_time" and not node.options["order"] for node in self.nodes)

    @property
    def mixed_steps(self) -> int | None:
        """The only number of time steps that the network can compute; None if it takes any."""
        mixes = (node.options for node in self.nodes if node.kind == "mix_time")
        return next((mix["steps"] for mix in mixes if not mix["sliding"]), None)

    @property
    def has_norms(self) -> bool:
        return any(node.kind == "norm" for node in self.nodes)

    def neurons_behind(self, kind: str) -> list[tuple[str, str]]:
        """Returns (node, neuron) for every spiking neuron behind a node of that kind. Frameworks
        write a linear and such a neuron as one layer."""
        pairs = (
            (self.only_before(name, kind), name)
            for name in self.neurons
            if not self.node(name).options["potentials"]
        )
        return [(before.name, name) for before, name in pairs if before]

    def only_before(self, name: str, kind: str, recurrent: bool = False) -> Node | None:
        """Returns the node of a kind that only the node `name` reads; None if that is a recurrent
        neuron, unless `recurrent`."""
        node = self.node(name)
        before = self._by_name.get(node.inputs[0])
        if (
            before is None
            or before.kind != kind
            or (node.options.get("recurrent") and not recurrent)
            or len(self.readers[before.name]) > 1
        ):
            return None
        return before

    @cached_property
    def readers(self) -> dict[str, tuple[Node, ...]]:
        """The readers of the input and of each node."""
        return {name: tuple(n for n in self.nodes if name in n.inputs) for name in self.shapes}

    @cached_property
    def parameters(self) -> dict[str, dict[str, Shape]]:
        """Shapes of the parameters (weight, bias, recurrent) by node and name."""
        shapes = {node.name: _parameters(node, self.shapes[node.inputs[0]]) for node in self.nodes}
        return {name: parameters for name, parameters in shapes.items() if parameters}

    def steps(self, name: str, time_steps: int) -> int:
        """Returns the time steps of a node's value if the input has `time_steps`: 1 behind a node
        over time."""
        while name != INPUT:
            node = self.node(name)
            if node.kind in OVER_TIME:
                return 1
            name = node.inputs[0]
        return time_steps

    def bare(self) -> "Network":
        """Returns the network without given parameters."""
        return Network(self.input, self.nodes)

    def up_to(self, name: str) -> "Network":
        """Returns the part of the network that ends with node `name`."""
        index = [node.name for node in self.nodes].index(name)
        return Network(self.input, self.nodes[: index + 1])

    def scaled_at(self, neuron: str) -> str | None:
        """Returns where a factor on a neuron's currents is applied: the node in front of it, a
        linear, conv or norm that nothing else reads; INPUT if the input is the currents; else None,
        and the currents themselves are multiplied."""
        before = self.node(neuron).inputs[0]
        if len(self.readers[before]) > 1:
            return None
        if before == INPUT:
            return INPUT
        return before if self.node(before).kind in ("linear", "conv", "norm") else None

    def scales(self, factor: float) -> dict[str, float]:
        """Returns a factor on the currents of all neurons by the nodes with parameters that take
        it, or by INPUT."""
        places = [self.scaled_at(neuron) for neuron in self.neurons]
        recurrent = [neuron for neuron in self.neurons if self.node(neuron).options["recurrent"]]
        return {} if factor == 1 else dict.fromkeys([*filter(None, places), *recurrent], factor)

    def scaled_in_call(self, factor: float) -> list[str]:
        """Returns the neurons with currents that must be multiplied by `factor` in the call."""
        return [name for name in self.neurons if factor != 1 and self.scaled_at(name) is None]


def _shape(node: Node, inputs: list[Shape]) -> Shape:
    options, (first, *others) = node.options, inputs
    if node.kind in ("linear", "delayed"):
        if len(first) != 1:
            raise node.fault(
                f"{node.kind} reads features (N,), not {first}; put a flatten before it"
            )
        return (options["outputs"],)
    if node.kind in ("conv", "max_pool", "avg_pool"):
        if len(first) != 3:
            raise node.fault(f"{node.kind} reads features (C, H, W), not {first}")
        channels = options.get("outputs", first[0])
        sides = [
            (side + 2 * options["padding"] - options["kernel"]) // options["stride"] + 1
            for side in first[1:]
        ]
        if min(sides) < 1:
            raise node.fault(f"a kernel of {options['kernel']} does not fit into {first[1:]}")
        groups = options.get("groups", 1)
        if first[0] % groups or channels % groups:
            raise node.fault(f"{first[0]} and {channels} channels are no {groups} equal groups")
        return (channels, *sides)
    if node.kind == "add" and first != others[0]:
        raise node.fault(f"cannot add {first} and {others[0]}")
    if node.kind == "multiply":
        return _repeated(node, first, others[0])
    if node.kind == "product":
        return _multiplied(node, first, others[0])
    if node.kind == "sum":
        if options["axis"] >= len(first):
            raise node.fault(f"axis = {options['axis']} is none of the features {first}")
        return tuple(1 if axis == options["axis"] else n for axis, n in enumerate(first))
    if node.kind == "reshape":
        shape: Shape = options["shape"]
        if prod(shape) != prod(first):
            raise node.fault(f"{first} has not as many numbers as {shape}")
        return shape
    if node.kind == "neuron" and options["recurrent"] and len(first) != 1:
        raise node.fault(f"a recurrent neuron reads features (N,), not {first}")
    if node.kind in ("softmax_sum", "vote") and len(first) != 1:
        raise node.fault(f"{node.kind} reads features (N,), not {first}")
    if node.kind == "vote":
        groups, rest = divmod(first[0], options["group"])
        if rest:
            raise node.fault(f"{first[0]} features are no groups of {options['group']}")
        return (groups,)
    return (prod(first),) if node.kind == "flatten" else first


def _repeated(node: Node, first: Shape, second: Shape) -> Shape:
    """Returns the features of two nodes multiplied number by number."""
    fits = len(first) == len(second) and all(
        n == m or 1 in (n, m) for n, m in zip(first, second, strict=True)
    )
    if not fits:
        raise node.fault(f"cannot multiply {first} by {second}")
    return tuple(map(max, first, second))


def _multiplied(node: Node, first: Shape, second: Shape) -> Shape:
    """Returns the features of a matrix product."""
    if len(first) != 3 or len(second) != 3:
        raise node.fault(f"product reads features (C, M, K), not {first} and {second}")
    left = (first[2], first[1]) if node.options["left"] else first[1:]
    right = (second[2], second[1]) if node.options["right"] else second[1:]
    if first[0] != second[0] or left[1] != right[0]:
        raise node.fault(
            f"cannot multiply the matrices {(first[0], *left)} and {(second[0], *right)}"
        )
    return (first[0], left[0], right[1])


def _parameters(node: Node, features: Shape) -> dict[str, Shape]:
    options = node.options
    if node.kind == "norm":
        return {"weight": features[:1], "bias": features[:1]}
    if node.kind == "neuron":
        shapes: dict[str, Shape] = {}
        if options["recurrent"]:
            shapes["recurrent"] = (features[0], features[0])
        if getattr(options["neuron"], "learned_decay", None):
            shapes["decay"] = (1,)
        return shapes
    if node.kind == "mix_time":
        steps, order = options["steps"], options["order"]
        if options["sliding"]:
            return {"weight": (order,), "bias": (1,)}
        return {"weight": (steps, steps), "bias": (steps, 1)}
    if node.kind == "delayed":
        return dict.fromkeys(("weight", "delay"), (options["outputs"], features[0]))
    if node.kind not in ("linear", "conv"):
        return {}
    kernel = (options["kernel"],) * 2 if node.kind == "conv" else ()
    weight = {"weight": (options["outputs"], features[0] // options.get("groups", 1), *kernel)}
    return {**weight, "bias": (options["outputs"],)} if options["bias"] else weight
