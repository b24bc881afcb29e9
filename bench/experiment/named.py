"""Neurons as frameworks write them, `snntorch.Leaky(beta=0.95)`: read strictly, never evaluated."""

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any, get_args

from snnbench.adapters.names import NAMES, WITHOUT, Meaning, Surrogate
from snnbench.kernels.spec import LARGEST

from ..common.mistakes import nearest, shown

EXAMPLE = "snntorch.Leaky(beta=0.95)"
NAMED = r"^\s*\w+\s*[.(]"
"""Pattern of the beginning of a framework's neuron."""
FIRST_BY_PLACE = ("snntorch", "spikingjelly")
"""Frameworks with neurons that have the same first argument here as there."""
LONGEST = 500
"""Most characters of a neuron."""
KINDS = {
    float: "a number",
    int: "a whole number",
    str: "a text",
    bool: "True or False",
    Surrogate: "a surrogate",
}


def is_named(value: Any) -> bool:
    """Returns True for a text that begins like a framework's neuron."""
    return isinstance(value, str) and bool(re.match(NAMED, value))


def lines_of(neurons: Iterable[Any]) -> list[str]:
    """Returns a line with its equation for each framework's neuron among a config's `neurons`."""
    texts = dict.fromkeys(" ".join(value.split()) for value in neurons if is_named(value))
    return [f"{text}: {read_named(text).words()}" for text in texts]


def read_named(text: str) -> Meaning:
    """Returns what a framework's neuron is in our equations. Raises ValueError."""
    tree = _parse(text)
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    path = _path(call.func)
    framework, name = path[0], path[-1]
    if len(path) == 1:
        raise ValueError(_without_framework(name))
    if framework not in NAMES:
        if reason := WITHOUT.get(framework):
            raise ValueError(f"{reason}; neuron = 'native' measures its tutorial's neuron")
        meant = nearest(framework, NAMES) or f" (there are {', '.join(NAMES)})"
        raise ValueError(f"names no framework {framework!r}{meant}")
    neurons = neurons_of(framework)
    if name not in neurons:
        meant = nearest(name, neurons) or f" (it has {', '.join(neurons)})"
        raise ValueError(f"{framework} has no neuron {name!r} with an equation here{meant}")
    result: Meaning = _called(neurons[name], f"{framework}.{name}", call, NAMES[framework])
    return result


def neurons_of(framework: str) -> dict[str, Callable[..., Any]]:
    """Returns the functions of a framework's neurons by their names."""
    return {name: function for name, function in NAMES[framework].items() if _is_neuron(function)}


def _without_framework(name: str) -> str:
    """Returns the sentence on a neuron that is given without its framework."""
    having = [f"{framework}.{name}" for framework in NAMES if name in neurons_of(framework)]
    meant = f"; did you mean {having[0]!r}?" if having else ""
    return f"must begin with its framework, as in {EXAMPLE}{meant}"


def _parse(text: str) -> ast.expr:
    fault = f"must look like {EXAMPLE}"
    if len(text) > LONGEST:
        raise ValueError(fault)
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes in texts
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(fault) from None


def _path(node: ast.expr) -> list[str]:
    """Returns the words of `spyx.nn.LIF`. Raises ValueError for anything else."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise ValueError(f"must look like {EXAMPLE}")
    return [node.id, *words]


def _called(
    function: Callable[..., Any], name: str, call: ast.Call, known: Mapping[str, Callable[..., Any]]
) -> Any:
    """Returns the result of a function of the table for the arguments of a call. Raises
    ValueError."""
    parameters = inspect.signature(function).parameters
    first = next(iter(parameters), None)
    if len(call.args) == 1 and first and name.partition(".")[0] in FIRST_BY_PLACE:
        call = ast.Call(call.func, [], [ast.keyword(first, call.args[0]), *call.keywords])
    if call.args or any(each.arg is None for each in call.keywords):
        example = f", as in {first}=…" if first else ""
        raise ValueError(f"{name} takes its arguments by their names{example}")
    arguments: dict[str, Any] = {}
    for keyword in call.keywords:
        key = str(keyword.arg)
        if key not in parameters:
            meant = nearest(key, parameters) or f" (it has {', '.join(parameters) or 'none'})"
            raise ValueError(f"{name} has no argument {key!r} here{meant}")
        if key in arguments:
            raise ValueError(f"{name} has {key} twice")
        value = _value(keyword.value, f"{name} has {key}", known)
        kinds = (
            get_args(kind) if isinstance(kind := parameters[key].annotation, UnionType) else (kind,)
        )
        if not any(_is(value, each) for each in kinds):
            wanted = " or ".join(KINDS.get(each, "None") for each in kinds)
            raise ValueError(f"{name} needs {wanted} for {key}, not {shown(value)}")
        arguments[key] = value
    missing = [
        key
        for key, each in parameters.items()
        if each.default is each.empty and key not in arguments
    ]
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}, such as {name}({missing[0]}=…)")
    try:
        return function(**arguments)
    except (ZeroDivisionError, OverflowError):
        raise ValueError(f"{name} has no finite decay with these arguments") from None


def _is(value: Any, kind: Any) -> bool:
    if kind in (float, int):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return value is None if kind is type(None) else isinstance(value, kind)


def _value(node: ast.expr, about: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    """Returns a number, a text, True, False, None, or a value of the table. Raises ValueError."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not abs(value) < LARGEST:
                raise ValueError(f"{about} = {shown(value)}, beyond what float32 can hold")
            return sign * value
        if sign == 1 and (value is None or isinstance(value, bool | str)):
            return value
    elif sign == 1 and isinstance(node, ast.Call | ast.Name | ast.Attribute):
        call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
        name = _path(call.func)[-1]
        values = {key: each for key, each in known.items() if not _is_neuron(each)}
        if name not in values:
            meant = nearest(name, values) or f" (there are {', '.join(values)})"
            raise ValueError(f"{about} = {name}, which is not known here{meant}")
        return _called(values[name], name, call, known)
    raise ValueError(f"{about} set to what is no plain number, text or name")


def _is_neuron(function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation is Meaning
