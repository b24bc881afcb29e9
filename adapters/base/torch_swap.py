"""Swaps the neurons of a torch module for fused ones, in a few lines of Python that are written
down and run."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import nn

from snnbench.kernels.spec import NeuronSpec

from .torch_model import Seen, copy_of, units_of

SCALED = ("superspike", "atan", "triangle", "straight-through")
"""Surrogates that are h times as high if currents and threshold are h times as large and the slope
is h times as small."""
HEAD = '''"""{purpose}"""

{imports}
'''
RECURRENT = '''

class Recurrent(nn.Module):
    """Fused neurons that feed their spikes back through a linear layer. They get its bias from the
    step `start` on."""

    def __init__(self, layer, start, gain, spec):
        super().__init__()
        self.layer, self.start, self.gain, self.spec = layer, start, gain, spec

    def forward(self, x):
        weight, bias = self.layer.weight, self.layer.bias
        if bias is not None:
            x = torch.cat([x[: self.start], x[self.start :] + bias])
        return recurrent_lif(self.gain * x, self.gain * weight, self.spec).spikes
'''
BATCH_FIRST = '''

class BatchFirst(nn.Module):
    """A fused neuron for currents (B, T, …)."""

    def __init__(self, neuron):
        super().__init__()
        self.neuron = neuron

    def forward(self, x):
        return self.neuron(x.transpose(0, 1)).transpose(0, 1)
'''
SCALE = '''

class Scale(nn.Module):
    """Multiplies currents by a factor."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x
'''
STATELESS = '''

class WithState(nn.Module):
    """Returns (spikes, state) without a state."""

    def __init__(self, neuron):
        super().__init__()
        self.neuron = neuron

    def forward(self, x, state=None):
        return self.neuron(x), None
'''
ROWS = '''

class Rows(nn.Module):
    """A fused neuron for rows of batch and time (B·T, …)."""

    def __init__(self, neuron, batch, steps):
        super().__init__()
        self.neuron, self.sizes = neuron, (batch, steps)

    def forward(self, x):
        x = x.unflatten(0, self.sizes).transpose(0, 1)
        return self.neuron(x).transpose(0, 1).flatten(0, 1)
'''
PLAYED = '''

class Played:
    """Takes the place of a neuron's forward: hands out spikes that were computed before."""

    def __init__(self, states):
        self.states, self.spikes = states, None

    def __call__(self, x, state=None, *more):
        spikes = x if self.spikes is None else next(self.spikes)
        states = (state, *more, *[None] * self.states)[: self.states]
        return (spikes, *states) if states else spikes
'''
PER_STEP = '''

def per_step(layer, x):
    """Applies a layer to every step of x (T, B, …)."""
    return layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])
'''
IMPORTS = {
    "torch.cat(": "import torch",
    "LIF(": "from snnbench.kernels import LIF",
    "NeuronSpec(": "from snnbench.kernels import NeuronSpec",
    "recurrent_lif(": "from snnbench.kernels.recurrent import recurrent_lif",
    "nn.": "from torch import nn",
}
"""Lines of Python by the words that need them."""
HELPERS = (SCALE, RECURRENT, ROWS, BATCH_FIRST, STATELESS, PLAYED, PER_STEP)
RESULTS = ("{}", "{}.sum(0)", "{}.mean(0)", "{}[-1]")
"""What a loop over time may return of its last spikes (T, B, …)."""
BATCH_FIRST_RESULT = "{}.transpose(0, 1)"
SIZES = {"tbf": "(T, B, …)", "bf": "(T, B, …)", "btf": "(B, T, …)"}
STEPS_FIRST = {"tbf": "x", "bf": "x", "btf": "x.transpose(0, 1)"}
NEWLINE = "\n"


class NoSwap(Exception):
    """The neurons have no fused replacement; the text says why."""


@dataclass(frozen=True)
class Fused:
    """A fused neuron that equals a user's: `spec` on currents times `gain`."""

    spec: NeuronSpec
    gain: float
    layer: str = ""
    """The name of a layer that feeds the spikes back."""
    start: int = 0
    """The step from which on that layer's bias is added."""

    @property
    def code(self) -> str:
        changed = [
            f"{each.name}={getattr(self.spec, each.name)!r}"
            for each in fields(self.spec)
            if each.name != "reset" and getattr(self.spec, each.name) != each.default
        ]
        spec = f"NeuronSpec({', '.join([repr(self.spec.reset), *changed])})"
        if self.layer:
            layer = f"net.get_submodule({self.layer!r})"
            return f"Recurrent({layer}, {self.start}, {self.gain!r}, {spec})"
        neuron = f"LIF({spec})"
        return neuron if self.gain == 1 else f"nn.Sequential(Scale({self.gain!r}), {neuron})"


@dataclass(frozen=True)
class Swap:
    """`code` is a module of Python; its `swap(net)` returns the changed module, for inputs in the
    layout `axes`. `modules` are the neurons that it replaces, `others` why it leaves others."""

    code: str
    axes: str
    modules: tuple[str, ...] = ()
    others: str = ""

    def applied(self, module: nn.Module) -> tuple[nn.Module, list[tuple[str, str]]]:
        """Returns the changed copy of a module, and the names of parameters that both have."""
        copied = copy_of(module)
        names = {id(one): name for name, one in copied.named_parameters()}
        variables: dict[str, Any] = {}
        exec(compile(self.code, "swapped.py", "exec"), variables)
        swapped = variables["swap"](copied)
        return swapped, [
            (names[id(one)], name) for name, one in swapped.named_parameters() if id(one) in names
        ]


def fused_neuron(seen: Seen, spec: NeuronSpec, gain: float, height: float, late: int) -> Fused:
    """Returns the fused neuron of an equation. Raises NoSwap."""
    if late:
        raise NoSwap("its spikes come late")
    if height != 1:
        if spec.surrogate not in SCALED:
            raise NoSwap(f"its surrogate is {height:g} times that of the fused {spec.surrogate}")
        threshold, slope = spec.threshold * height, spec.slope / height
        spec, gain = replace(spec, threshold=threshold, slope=slope), gain * height
    if not seen.is_recurrent:
        return Fused(spec, gain)
    if seen.recurrent is None:
        raise NoSwap("it holds the weights of its recurrence itself, not in a layer")
    if spec.max_spikes > 1 or spec.current_decay is not None:
        what = "several spikes a step" if spec.max_spikes > 1 else "a synaptic current"
        raise NoSwap(f"no recurrent fused neuron has {what}")
    layer = next(name for name, one in seen.module.named_modules() if one is seen.recurrent)
    late_bias = int(seen.framework == "Sinabs")  # which feeds nothing back in the first step
    return Fused(spec, gain, f"{seen.name}.{layer}", late_bias)


def swaps(
    seen: dict[str, Seen], neurons: list[Seen], fused: dict[str, Fused], axes: str
) -> Iterator[Swap]:
    """Yields ways to put the neurons `fused`, by name, into a module, those that replace most of
    them first; one may be the same model. Raises NoSwap."""
    whole = [name for name in fused if seen[name].layout != "step"]
    if whole:
        yield _in_place(seen, fused, whole, axes)
        for without in whole if len(whole) > 1 else ():
            yield _in_place(seen, fused, [name for name in whole if name != without], axes)
        return
    chain, broken = _chain(seen, neurons)
    stays = [one.name for one in neurons if one.name not in fused]
    if not (broken or stays):
        for result in RESULTS:
            yield _all_steps(chain, fused, axes, result)
        if axes == "btf":
            yield _all_steps(chain, fused, axes, BATCH_FIRST_RESULT)
    first = list(itertools.takewhile(lambda one: one.name not in stays, chain))
    ends = [end for end, one in enumerate(first, 1) if one.name in fused]
    if axes != "bf":
        for end in reversed(ends):
            yield replace(_ahead(first[:end], fused, axes), others=broken)
    if not ends or axes == "bf":
        must = f"forward goes step by step, and {', '.join(stays)} must stay"
        if broken or stays:
            raise NoSwap(broken or must)


def _in_place(seen: dict[str, Seen], fused: dict[str, Fused], names: list[str], axes: str) -> Swap:
    lines = []
    for name in names:
        layout, code = seen[name].layout, fused[name].code
        if layout == "rows":
            code = f"Rows({code}, {', '.join(map(str, _rows_of(seen[name])))})"
        code = f"BatchFirst({code})" if layout == "bt" else code
        code = f"WithState({code})" if isinstance(seen[name].last, tuple) else code
        lines.append(f"    net.set_submodule({name!r}, {code})")
    body = (
        '\n\ndef swap(net):\n    """Returns the model with fused neurons."""\n'
        + "\n".join(lines)
        + "\n    return net\n"
    )
    return _written("Puts fused neurons into a model.", body, axes, names)


def _rows_of(seen: Seen) -> tuple[int, int]:
    """Returns batch and time steps in the rows of a module's input, one of them -1."""
    sizes = tuple(int(getattr(seen.module, name, -1)) for name in ("batch_size", "num_timesteps"))
    if sizes == (-1, -1):
        raise NoSwap(f"time is inside the batch axis of the input of {seen.name}")
    return (sizes[0], -1) if sizes[0] > 0 else (-1, sizes[1])


def _chain(seen: dict[str, Seen], neurons: list[Seen]) -> tuple[list[Seen], str]:
    """Returns the modules that a step passes one after the other from its start, and why the next
    one is not among them; nothing if all are."""
    units = units_of(seen, neurons)
    for place, (before, one) in enumerate(itertools.pairwise(units), 1):
        if before.name not in one.sources:
            return units[:place], (
                f"forward goes step by step and computes something of its own between "
                f"{before.name} and {one.name}"
            )
    return units, ""


def _layers(chain: list[Seen], fused: dict[str, Fused]) -> tuple[list[str], list[str]]:
    """Returns the lines that make the layers of a chain, and those that call them on all steps."""
    made, calls = [], []
    for one in chain:
        attribute = one.name.replace(".", "_")
        attribute = attribute if attribute.isidentifier() else f"layer{attribute}"
        source = fused[one.name].code if one.name in fused else f"net.get_submodule({one.name!r})"
        made.append(f"        self.{attribute} = {source}")
        whole = one.name in fused or isinstance(one.module, nn.Linear)
        call = f"self.{attribute}(y)" if whole else f"per_step(self.{attribute}, y)"
        calls.append(f"        y = {call}")
    return made, calls


def _all_steps(chain: list[Seen], fused: dict[str, Fused], axes: str, result: str) -> Swap:
    made, calls = _layers(chain, fused)
    body = f"""

class AllSteps(nn.Module):
    \"""Takes all steps of x {SIZES[axes]} at once.\"""

    def __init__(self, net):
        super().__init__()
{NEWLINE.join(made)}

    def forward(self, x):
        y = {STEPS_FIRST[axes]}
{NEWLINE.join(calls)}
        return {result.format("y")}


def swap(net):
    \"""Returns the model with fused neurons and the parameters of `net`.\"""
    return AllSteps(net)
"""
    purpose = "A model that computes layer by layer, with fused neurons."
    return _written(purpose, body, "btf" if axes == "btf" else "tbf", [*fused])


def _ahead(chain: list[Seen], fused: dict[str, Fused], axes: str) -> Swap:
    """Returns the swap that computes a chain before the loop over time. In the loop, the chain's
    neurons hand out their spikes."""
    made, calls = _layers(chain, fused)
    played = []
    for one in chain:
        if one.name in fused:
            states = len(one.last) - 1 if isinstance(one.last, tuple) else 0
            played.append(f"        net.get_submodule({one.name!r}).forward = Played({states})")
        else:
            played.append(f"        net.set_submodule({one.name!r}, nn.Identity())")
    body = f"""

class Ahead(nn.Module):
    \"""Computes the first layers for all steps of x {SIZES[axes]} at once; then `net` loops over
    time, and its last replaced neuron hands out their spikes.\"""

    def __init__(self, net):
        super().__init__()
{NEWLINE.join(made)}
{NEWLINE.join(played)}
        self.net = net

    def forward(self, x):
        y = {STEPS_FIRST[axes]}
{NEWLINE.join(calls)}
        self.net.get_submodule({chain[-1].name!r}).forward.spikes = iter(y.unbind(0))
        return self.net(x)


def swap(net):
    \"""Returns the model with fused neurons and the parameters of `net`.\"""
    return Ahead(net)
"""
    names = [one.name for one in chain if one.name in fused]
    return _written("Computes the first layers ahead, with fused neurons.", body, axes, names)


def _written(purpose: str, body: str, axes: str, names: list[str]) -> Swap:
    used = [each for each in HELPERS if each.split()[1].partition("(")[0].rstrip(":") + "(" in body]
    text = "".join(used) + body
    imports = [line for word, line in IMPORTS.items() if word in text]
    head = HEAD.format(purpose=purpose, imports=NEWLINE.join(imports))
    return Swap(head + text, axes, tuple(names))
