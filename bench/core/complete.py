"""Validates third-party adapters and their programs when they are loaded."""

import inspect
import re
from collections.abc import Mapping, Set
from typing import Any, get_args

from .contract import Adapter, Program, Trait
from .result import BY_HARNESS, READ_BY_HARNESS, ReadByHarness


class NoAdapter(TypeError):
    """A reference names no adapter; the text is the reason."""


NAME = r"[A-Za-z0-9_.-]+"
"""Names of adapters, constructions and modes, so that a config can name them."""
LISTS = ("requires", "modes", "devices")
CAN_BE_LEFT_OUT = (
    *BY_HARNESS,
    "features",
    "prepare_inference",
    "evaluate",
    "optimize",
    "breakdown",
    "release",
    "memory_probe",
    "facts",
    "compile_facts",
)
"""Methods of Program that have a usable default."""
CONTRACT = "snnbench.core.contract.Program"


def adapter_class(value: Any, reference: str) -> type[Adapter]:
    """Returns `value`, which `reference` names. Raises NoAdapter if it is no adapter class."""
    if not (isinstance(value, type) and issubclass(value, Adapter)):
        raise NoAdapter(f"{reference} is not a subclass of TorchAdapter or JaxAdapter")
    if not isinstance(name := getattr(value, "name", ""), str) or not re.fullmatch(NAME, name):
        raise NoAdapter(
            f"{reference} needs a name of letters, digits, dots, dashes and underscores"
        )
    for field in LISTS:
        texts = getattr(value, field)
        if not isinstance(texts, tuple | list) or not all(
            isinstance(text, str) and text for text in texts
        ):
            raise NoAdapter(
                f"{reference}: {field} = {texts!r} must be a tuple of texts, like ({str(texts)!r},)"
            )
        if not texts and field != "requires":
            raise NoAdapter(f"{reference}: {field} must name at least one")
    named, known = value.constructions, get_args(Trait)
    if not (
        isinstance(named, Mapping)
        and {*map(type, named)} == {str}
        and all(isinstance(traits, Set) and traits <= {*known} for traits in named.values())
    ):
        raise NoAdapter(
            f"{reference}: constructions = {named!r} must map names to sets of "
            f'{", ".join(known)}, like {{"default": set(), "layers": {{"synaptic"}}}}'
        )
    words = [*named, *value.modes]
    for word in words:
        if not re.fullmatch(NAME, word) or words.count(word) > 1:
            raise NoAdapter(
                f"{reference}: {word!r} must be of letters, digits, dots, dashes and underscores, "
                "and the name of one construction or one mode"
            )
    if not isinstance(value.refusal, str | None):
        raise NoAdapter(
            f"{reference}: refusal = {value.refusal!r} must be None, or why it computes nothing,"
            " as a text"
        )
    if missing := sorted(value.__abstractmethods__):
        raise NoAdapter(
            f"{reference} does not define {', '.join(missing)}; "
            "subclass TorchAdapter or JaxAdapter, which do"
        )
    return value


def whole(program: Any) -> Any:
    """Returns `program`. Raises TypeError, which names what it lacks of Program."""
    lacking = [
        _signature(name, member)
        for name, member in vars(Program).items()
        if name[0] != "_" and _lacks(program, name, member)
    ]
    words = [f"lacks {', '.join(lacking)} of {CONTRACT}"] * bool(lacking)
    if ReadByHarness not in type(program).__mro__:
        words.insert(0, f"must inherit from {CONTRACT}")
    if words:
        raise TypeError(f"{type(program).__name__} {' and '.join(words)}")
    if forbidden := [
        name
        for name in BY_HARNESS
        if getattr(getattr(program, name), "__func__", None) is not vars(ReadByHarness)[name]
    ]:
        raise TypeError(
            f"{type(program).__name__} must not define `{forbidden[0]}`: {READ_BY_HARNESS}"
        )
    return program


def _lacks(program: Any, name: str, wanted: Any) -> bool:
    member = getattr(type(program), name, None) or getattr(program, name, None)
    if inspect.isfunction(wanted):
        return not callable(member) or (member is wanted and name not in CAN_BE_LEFT_OUT)
    return member is None


def _signature(name: str, wanted: Any) -> str:
    """Returns `step(x, upstream)`, or only the name of an attribute."""
    return (
        f"{name}({', '.join([*inspect.signature(wanted).parameters][1:])})"
        if inspect.isfunction(wanted)
        else name
    )
