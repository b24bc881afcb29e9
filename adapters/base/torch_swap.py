"""Swaps the neurons of a torch module for fused ones, in a few lines of Python that are written
down and run."""

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import nn

from snnbench.kernels.spec import NeuronSpec

from .torch_model import Seen

SCALED = ("superspike", "atan", "triangle", "straight-through")
"""Surrogates that are h times as high if currents and threshold are h times as large and the slope
is h times as small."""
HEAD = '''"""{purpose}"""

from snnbench.kernels import LIF, NeuronSpec
from torch import nn
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
PER_STEP = '''

def per_step(layer, x):
    """Applies a layer to every step of x (T, B, …)."""
    return layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])
'''
RESULTS = ("{}", "{}.sum(0)", "{}.mean(0)")
"""What a loop over time may return of its last spikes (T, B, …)."""


class NoSwap(Exception):
    """The neurons have no fused replacement; the text says why."""


@dataclass(frozen=True)
class Fused:
    """A fused neuron that equals a user's: `spec` on currents times `gain`."""

    spec: NeuronSpec
    gain: float

    @property
    def code(self) -> str:
        changed = [
            f"{each.name}={getattr(self.spec, each.name)!r}"
            for each in fields(self.spec)
            if each.name != "reset" and getattr(self.spec, each.name) != each.default
        ]
        neuron = f"LIF(NeuronSpec({', '.join([repr(self.spec.reset), *changed])}))"
        return neuron if self.gain == 1 else f"nn.Sequential(Scale({self.gain!r}), {neuron})"


@dataclass(frozen=True)
class Swap:
    """`code` is a module of Python; its `swap(net)` returns the changed module, for inputs in the
    layout `axes`."""

    code: str
    axes: str

    def applied(self, module: nn.Module) -> tuple[nn.Module, list[tuple[str, str]]]:
        """Returns the changed copy of a module, and the names of parameters that both have."""
        copied = copy.deepcopy(module)
        names = {id(one): name for name, one in copied.named_parameters()}
        variables: dict[str, Any] = {}
        exec(compile(self.code, "swapped.py", "exec"), variables)
        swapped = variables["swap"](copied)
        return swapped, [
            (names[id(one)], name) for name, one in swapped.named_parameters() if id(one) in names
        ]


def fused_neuron(spec: NeuronSpec, gain: float, height: float, late: int) -> Fused:
    """Returns the fused neuron of an equation. Raises NoSwap."""
    if late:
        raise NoSwap("its spikes come late")
    if spec.rounding is not None:
        raise NoSwap("its spikes are rounded, which no fused neuron does")
    if height != 1:
        if spec.surrogate not in SCALED:
            raise NoSwap(f"its surrogate is {height:g} times that of the fused {spec.surrogate}")
        threshold, slope = spec.threshold * height, spec.slope / height
        spec, gain = replace(spec, threshold=threshold, slope=slope), gain * height
    return Fused(spec, gain)


def swaps(
    seen: dict[str, Seen], neurons: list[Seen], fused: dict[str, Fused], axes: str
) -> Iterator[Swap]:
    """Yields ways to put the neurons `fused`, by name, into a module, of which one may be the same
    model. Raises NoSwap."""
    layouts = {seen[name].layout for name in fused}
    if layouts <= {"tb", "bt"}:
        yield Swap(_in_place(seen, fused), axes)
    elif layouts == {"step"}:
        rest = [one.name for one in neurons if one.name not in fused]
        if rest:
            raise NoSwap(f"forward goes step by step, and {', '.join(rest)} must stay")
        chain = _chain(seen, neurons)
        for result in RESULTS:
            code = _all_steps(chain, fused, axes == "btf", result)
            yield Swap(code, "btf" if axes == "btf" else "tbf")
        if axes == "btf":
            yield Swap(_all_steps(chain, fused, True, "{}.transpose(0, 1)"), axes)
    else:
        raise NoSwap("time is inside the batch axis of its input")


def _in_place(seen: dict[str, Seen], fused: dict[str, Fused]) -> str:
    lines = []
    for name, neuron in fused.items():
        code = neuron.code
        code = f"BatchFirst({code})" if seen[name].layout == "bt" else code
        code = f"WithState({code})" if isinstance(seen[name].last, tuple) else code
        lines.append(f"    net.set_submodule({name!r}, {code})")
    body = (
        '\n\ndef swap(net):\n    """Returns the model with fused neurons."""\n'
        + "\n".join(lines)
        + "\n    return net\n"
    )
    helpers = [SCALE, BATCH_FIRST, STATELESS]
    return HEAD.format(purpose="Puts fused neurons into a model.") + _used(helpers, body) + body


def _chain(seen: dict[str, Seen], neurons: list[Seen]) -> list[tuple[str, nn.Module]]:
    """Returns the modules that a step passes one after the other. Raises NoSwap if they are no
    chain."""
    names = [one.name for one in neurons]
    units = [
        one
        for name, one in seen.items()
        if name in names
        or (
            not any(name.startswith(f"{outer}.") for outer in names)
            and not any(True for _ in one.module.children())
        )
    ]
    for before, one in itertools.pairwise(units):
        if before.name not in one.sources:
            raise NoSwap(
                f"forward goes step by step and computes something of its own between "
                f"{before.name} and {one.name}"
            )
    return [(one.name, one.module) for one in units]


def _all_steps(
    chain: list[tuple[str, nn.Module]], fused: dict[str, Fused], batch_first: bool, result: str
) -> str:
    made, calls = [], ["        x = x.transpose(0, 1)"] if batch_first else []
    for name, module in chain:
        attribute = name.replace(".", "_")
        attribute = attribute if attribute.isidentifier() else f"layer{attribute}"
        source = fused[name].code if name in fused else f"net.get_submodule({name!r})"
        made.append(f"        self.{attribute} = {source}")
        whole = name in fused or isinstance(module, nn.Linear)
        call = f"self.{attribute}(x)" if whole else f"per_step(self.{attribute}, x)"
        calls.append(f"        x = {call}")
    sizes = "(B, T, …)" if batch_first else "(T, B, …)"
    body = "\n".join(
        [
            "\n\nclass AllSteps(nn.Module):",
            f'    """Takes all steps of x {sizes} at once."""',
            "",
            "    def __init__(self, net):",
            "        super().__init__()",
            *made,
            "",
            "    def forward(self, x):",
            *calls,
            f"        return {result.format('x')}",
            "",
            "",
            "def swap(net):",
            '    """Returns the model with fused neurons and the parameters of `net`."""',
            "    return AllSteps(net)",
            "",
        ]
    )
    purpose = "A model that computes layer by layer, with fused neurons."
    return HEAD.format(purpose=purpose) + _used([SCALE, PER_STEP], body) + body


def _used(helpers: list[str], body: str) -> str:
    return "".join(each for each in helpers if each.split()[1].partition("(")[0] + "(" in body)
