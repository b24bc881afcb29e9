"""A `Network` as torch modules: the adapter's, and torch's own layers for the rest, each once over
all T·B items."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from snnbench.core.case import Case
from snnbench.core.network import INPUT, LAYERS, Network, Node, Shape
from snnbench.kernels.spec import NeuronSpec

from .time_loop import State, TimeLoop

Kind = TypeVar("Kind", bound=nn.Module)


class LinearNeuron(nn.Module):
    """A Linear over all T·B rows at once, then a neuron: (T, B, inputs) → (T, B, outputs)."""

    def __init__(self, inputs: int, outputs: int, bias: bool, neuron: nn.Module) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=bias)
        self.neuron = neuron

    def forward(self, x: Tensor) -> Tensor:
        return self.neuron(self.linear(x))


class Recurrent(TimeLoop):
    """A neuron with the recurrent weight times its spikes of the step before added to its
    currents."""

    def __init__(self, features: int, neuron: TimeLoop) -> None:
        super().__init__()
        self.recurrent = nn.Linear(features, features, bias=False)
        self.neuron = neuron

    def step(self, current: Tensor, state: State) -> tuple[Tensor, State]:
        spikes, inner = (None, None) if state is None else state
        if spikes is not None:
            current = current + self.recurrent(spikes.to(self.recurrent.weight.dtype))
        spikes, inner = self.neuron.step(current, inner)
        return spikes, (spikes, inner)


class Integrator(TimeLoop):
    """v[t] = decay · v[t−1] + gain · x[t] from 0: a `TimeLoop` that hands out v."""

    def __init__(self, decay: float, gain: float) -> None:
        super().__init__()
        self.decay, self.gain = decay, gain

    def step(self, current: Tensor, state: State) -> tuple[Tensor, State]:
        current = current if self.gain == 1 else self.gain * current
        v = current if state is None else self.decay * state + current
        return v, v


class MixTime(nn.Module):
    """A linear over time, alike for all items and features, or with `sliding` a convolution over
    the last `order` steps: a product of each block of steps and the one before, since torch's
    convolution of one channel takes several times as long."""

    def __init__(self, steps: int, order: int | None, sliding: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(order if sliding else (steps, steps)))
        self.bias = nn.Parameter(torch.zeros(1 if sliding else (steps, 1)))
        self.order, self.sliding = order, sliding

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(1)
        if self.sliding:
            steps, width = len(rows), max(1, len(self.weight) - 1)
            blocks = -(-steps // width)
            padded = nn.functional.pad(rows, (0, 0, width, blocks * width - steps))
            halves = padded.view(blocks + 1, width, -1)
            late = (2 * width - len(self.weight), width - 1)
            weight = nn.functional.pad(self.weight, late).unfold(0, 2 * width, 1).flip(0)
            before, own = weight.expand(blocks, -1, -1).split(width, 2)
            mixed = torch.baddbmm(torch.bmm(before, halves[:-1]), own, halves[1:])
            return (mixed.flatten(0, 1)[:steps] + self.bias).view_as(x)
        weight = self.weight
        if self.order is not None:
            weight = weight.tril().triu(1 - self.order)
        return torch.addmm(self.bias, weight, rows).view_as(x)


class Delayed(nn.Module):
    """A linear that hears every input at a delay of its own: a convolution over time with Gaussian
    kernels at learned positions."""

    def __init__(self, inputs: int, outputs: int, most: int, sigma: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs))
        self.delay = nn.Parameter(torch.zeros(outputs, inputs))
        self.most, self.sigma = most, sigma

    def kernel(self) -> Tensor:
        """Returns the kernel (outputs, inputs, most) by delay."""
        steps = torch.arange(self.most, device=self.delay.device, dtype=self.delay.dtype)
        spread = (((steps - self.delay[..., None]) / self.sigma) ** 2 / -2).exp()
        return self.weight[..., None] * spread / (spread.sum(-1, keepdim=True) + 1e-7)

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.functional.pad(x.permute(1, 2, 0), (self.most - 1, 0))
        return nn.functional.conv1d(padded, self.kernel().flip(-1)).permute(2, 0, 1)


class Merged(nn.Module):
    """A layer (items, *features) → (items, *features'), once over all T·B items: (T, B, *features)
    → (T, B, *features')."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])


class EachStep(nn.Module):
    """A layer (B, *features) → (B, *features'), once for each time step: (T, B, *features) → (T, B,
    *features')."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([self.layer(step) for step in x.unbind(0)])


class Operation(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *values: Tensor) -> Tensor:
        return self.function(*values)


def _window(options: Mapping[str, Any]) -> tuple[int, int, int]:
    return options["kernel"], options["stride"], options["padding"]


ITEMWISE: dict[str, Callable[[Any, Mapping[str, Any], Shape], nn.Module]] = {
    "linear": lambda nn, options, features: nn.Linear(
        features[0], options["outputs"], bias=options["bias"]
    ),
    "conv": lambda nn, options, features: nn.Conv2d(
        features[0],
        options["outputs"],
        *_window(options),
        groups=options["groups"],
        bias=options["bias"],
    ),
    "norm": lambda nn, options, features: (
        nn.BatchNorm2d if len(features) == 3 else nn.BatchNorm1d
    )(features[0], options["epsilon"], options["momentum"]),
    "max_pool": lambda nn, options, features: nn.MaxPool2d(*_window(options)),
    "avg_pool": lambda nn, options, features: nn.AvgPool2d(*_window(options)),
    "flatten": lambda nn, options, features: nn.Flatten(),
}
"""By kind of node: a function (library, options, input features) → layer. The library names its
layers as torch.nn does."""


def layer_of(node: Node, network: Network, library: Any = nn) -> nn.Module:
    """Returns the layer (items, *features) → (items, *features') of a node of a kind in
    ITEMWISE."""
    return ITEMWISE[node.kind](library, node.options, network.shapes[node.inputs[0]])


def _product(a: Tensor, b: Tensor, scale: float, left: bool, right: bool) -> Tensor:
    value = (a.mT if left else a) @ (b.mT if right else b)
    return value if scale == 1 else scale * value


OPERATIONS: dict[str, Callable[[Mapping[str, Any]], Callable[..., Tensor]]] = {
    "flatten": lambda options: lambda x: x.flatten(2),
    "reshape": lambda options: lambda x: x.reshape(*x.shape[:2], *options["shape"]),
    "add": lambda options: torch.add,
    "multiply": lambda options: torch.mul,
    "product": lambda options: partial(_product, **options),
    "sum": lambda options: lambda x: x.sum(2 + options["axis"], keepdim=True),
    "mean_time": lambda options: lambda x: x.mean(0, keepdim=True),
    "max_time": lambda options: lambda x: x.max(0, keepdim=True).values,
    "softmax_sum": lambda options: lambda x: x.softmax(-1).sum(0, keepdim=True),
    "last_time": lambda options: lambda x: x[-1:],
    "vote": lambda options: lambda x: x.unflatten(-1, (-1, options["group"])).mean(-1),
}
"""By kind of node: a function from its options to a function of values (T, B, *features), without
parameters."""


class NodeContainer(nn.Module):
    """Modules of a run of nodes, as a framework's users write them: `by_node` has the module of
    every node by name, `neurons` are the names of neurons. `forward(x, every_border)` returns the
    spikes of all neurons or of the last only, by name, and the value of the last node."""

    def __init__(self, by_node: Mapping[str, nn.Module], neurons: tuple[str, ...]) -> None:
        super().__init__()
        self.by_node, self.neurons = by_node, neurons


def module_of(node: Node, network: Network, each_step: bool = False) -> nn.Module:
    """Returns the module (T, B, *features) → (T, B, *features') of a node that is no neuron."""
    if node.kind in OPERATIONS:
        return Operation(OPERATIONS[node.kind](node.options))
    if node.kind == "integrator":
        decay = node.options["decay"]
        return Integrator(decay, 1 - decay if node.options["normal"] else 1.0)
    if node.kind == "mix_time":
        return MixTime(**node.options)
    if node.kind == "delayed":
        return Delayed(*network.shapes[node.inputs[0]], **node.options)
    layer = layer_of(node, network)
    if each_step and node.kind in LAYERS:
        return EachStep(layer)
    return layer if node.kind == "linear" else Merged(layer)


@dataclass(frozen=True)
class Part:
    """A module that computes a run of nodes: the value of the last from the values `reads`.
    `neuron` is the neuron of the run, of a NodeContainer the last, which computes the module's
    value. With `apart` the module, a NodeContainer or a neuron with potentials, returns (spikes,
    value). The values `unread` are not read after it."""

    nodes: tuple[str, ...]
    module: nn.Module
    reads: tuple[str, ...]
    neuron: str | None
    apart: bool
    unread: tuple[str, ...]


class TorchSpelling(Protocol):
    name: str
    learned_decays: Mapping[str, str]

    def scale_of(self, case: Case) -> float: ...
    def modules(self, case: Case, network: Network) -> dict[tuple[str, ...], nn.Module]: ...
    def neuron_of(self, case: Case, node: Node, features: Shape) -> nn.Module: ...
    def parameters(self, layer: nn.Module) -> tuple[nn.Parameter, nn.Parameter | None]: ...
    def recurrent(self, spec: NeuronSpec, neurons: int, construction: str) -> nn.Module: ...
    def recurrent_weight(self, module: nn.Module) -> nn.Parameter: ...
    def cast_spikes(self, spikes: Tensor, dtype: torch.dtype) -> Tensor: ...
    def facts(self, case: Case) -> dict[str, Any]: ...
    def compile_seconds(self) -> float | None: ...


class TorchNetwork(nn.Module):
    """The parts of a network in the order of its nodes. `dtype` is the type of every part's input;
    None under autocast."""

    def __init__(self, adapter: TorchSpelling, case: Case, network: Network) -> None:
        super().__init__()
        self.adapter, self.network = adapter, network
        self.dtype: torch.dtype | None = None
        self.scale = adapter.scale_of(case)
        self.scaled_in_call = network.scaled_in_call(self.scale)
        self.parts = tuple(self._parts(case))
        self.layers = nn.ModuleList(part.module for part in self.parts)

    def forward(
        self, x: Tensor, every_border: bool = True, parts: int | None = None
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Returns the spikes of all neurons or of the last only, by name, and the value of the last
        node, or of the last of the first `parts`."""
        values, value = {INPUT: x}, x
        borders: dict[str, Tensor] = {}
        for part in self.parts[:parts]:
            inputs = [self.cast(values[name]) for name in part.reads]
            value = part.module(
                *inputs, *([every_border] if isinstance(part.module, NodeContainer) else [])
            )
            if part.neuron is not None:
                spikes, value = value if part.apart else (value, value)
                by_name = spikes if isinstance(spikes, dict) else {part.neuron: spikes}
                borders = {**borders, **by_name} if every_border else by_name
            values[part.nodes[-1]] = value
            for name in part.unread:
                del values[name]
        return borders, value

    def cast(self, value: Tensor) -> Tensor:
        return value if self.dtype is None else self.adapter.cast_spikes(value, self.dtype)

    def parameters_by_node(self) -> dict[str, dict[str, nn.Parameter]]:
        """Returns the parameters of every node, in the order of `Network.parameters`."""
        places: dict[str, dict[str, nn.Parameter]] = {}
        for part in self.parts:
            for name in part.nodes:
                wanted = self.network.parameters.get(name, ())
                if "recurrent" in wanted:
                    places[name] = {"recurrent": self.adapter.recurrent_weight(part.module)}
                elif "delay" in wanted:
                    delayed = _inner(part.module, Delayed)
                    places[name] = {"weight": delayed.weight, "delay": delayed.delay}
                elif "decay" in wanted:
                    places[name] = {"decay": self._decay(part, self.network.node(name))}
                elif wanted:
                    pair = self._weight_and_bias(_module_of(part, self.network.node(name)))
                    places[name] = {
                        key: value
                        for key, value in zip(("weight", "bias"), pair, strict=True)
                        if key in wanted
                    }
        return {name: places[name] for name in self.network.parameters}

    def _decay(self, part: Part, neuron: Node) -> nn.Parameter:
        wanted = self.adapter.learned_decays[neuron.options["neuron"].learned_decay]
        named = _module_of(part, neuron).named_parameters()
        return next(parameter for name, parameter in named if name.rpartition(".")[2] == wanted)

    def _weight_and_bias(self, module: nn.Module) -> tuple[nn.Parameter, nn.Parameter | None]:
        """Returns the parameters of a layer built here, else those that the adapter names."""
        module = module.layer if isinstance(module, Merged | EachStep) else module
        if isinstance(module, LinearNeuron):
            module = module.linear
        if isinstance(module, nn.Linear | nn.Conv2d | MixTime | nn.modules.batchnorm._BatchNorm):
            return module.weight, module.bias
        return self.adapter.parameters(module)

    def norms(self) -> dict[str, nn.modules.batchnorm._BatchNorm]:
        """Returns, by norm, the module that keeps its running statistics."""
        return {
            name: _inner(_module_of(part, self.network.node(name)), nn.modules.batchnorm._BatchNorm)
            for part in self.parts
            for name in part.nodes
            if self.network.node(name).kind == "norm"
        }

    def _parts(self, case: Case) -> list[Part]:
        """Returns the adapter's modules, and a module for every other node, each at the position of
        its last node. The nodes are visited in reverse, so that later reads are known."""
        modules = dict(self.adapter.modules(case, self.network))
        run_of = {name: run for run in modules for name in run}
        modules |= {
            (node.name,): self._module(node, case)
            for node in self.network.nodes
            if node.name not in run_of
        }
        parts: list[Part] = []
        read_later: set[str] = set()
        for run in dict.fromkeys(
            run_of.get(node.name, (node.name,)) for node in reversed(self.network.nodes)
        ):
            members = [self.network.node(name) for name in run]
            reads = tuple(
                dict.fromkeys(
                    name for member in members for name in member.inputs if name not in run
                )
            )
            neuron = next((member for member in reversed(members) if member.kind == "neuron"), None)
            apart = isinstance(modules[run], NodeContainer) or (
                neuron is not None and bool(neuron.options["potentials"])
            )
            unread = tuple(dict.fromkeys(name for name in reads if name not in read_later))
            parts.append(
                Part(run, modules[run], reads, neuron.name if neuron else None, apart, unread)
            )
            read_later |= set(reads)
        return parts[::-1]

    def _module(self, node: Node, case: Case) -> nn.Module:
        features = self.network.shapes[node.inputs[0]]
        if node.kind != "neuron":
            return module_of(node, self.network, case.construction == "vanilla")
        if node.options["recurrent"]:
            spec = node.options["neuron"]
            neuron = self.adapter.recurrent(spec, features[0], case.construction)
        else:
            neuron = self.adapter.neuron_of(case, node, features)
        scaled = Operation(partial(torch.mul, other=self.scale))
        return nn.Sequential(scaled, neuron) if node.name in self.scaled_in_call else neuron


def _module_of(part: Part, node: Node) -> nn.Module:
    """Returns the module of one node of a part. A module of several nodes has its convolution and
    its norm under these names."""
    if isinstance(part.module, NodeContainer):
        return part.module.by_node[node.name]
    return (
        getattr(part.module, node.kind)
        if node.kind in ("conv", "norm") and hasattr(part.module, node.kind)
        else part.module
    )


def _inner(module: nn.Module, kind: type[Kind]) -> Kind:
    return next(part for part in module.modules() if isinstance(part, kind))
