"""Values as users write them: durations, sizes, neurons."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, replace
from typing import Any, get_args

from snnbench.kernels.spec import LARGEST, NEURONS, NeuronSpec

from ..common.mistakes import nearest, shown, toml_in_words
from ..core.case import NATIVE, Native
from .named import EXAMPLE, is_named, read_named

_DURATIONS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}

LEAST_SECONDS, MOST_SECONDS, MOST_BYTES = 1e-6, 27_000 * 3600.0, 1 << 54


def parse_duration(value: Any) -> float:
    """Returns the seconds of `500ms`, `60s`, `10m` or `2h`. Raises ValueError."""
    seconds = _quantity(value, _DURATIONS, "a duration such as '500ms', '60s' or '10m'")
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise ValueError("must be at least 0.001ms and at most 27000h")
    return seconds


def parse_size(value: Any) -> int:
    """Returns the bytes of `512MiB` or `16GiB`. Raises ValueError."""
    size = _quantity(value, _SIZES, "a size such as '512MiB' or '16GiB'")
    if not 1 <= size <= MOST_BYTES:
        raise ValueError("must be at least one byte and at most 16384TiB")
    return int(size)


def duration_text(seconds: float) -> str:
    """Returns what `parse_duration` parses: `80 ms`, `600 s`."""
    return f"{1000 * seconds:.12g} ms" if seconds < 1 else f"{seconds:.12g} s"


def size_text(size: int) -> str:
    """Returns what `parse_size` parses, in the largest unit without a fraction: `16 GiB`."""
    unit = next((unit for unit in ("GiB", "MiB", "KiB") if size % _SIZES[unit] == 0), "B")
    return f"{size // _SIZES[unit]} {unit}"


def _quantity(value: Any, units: Mapping[str, float], wanted: str) -> float:
    text = value if isinstance(value, str) else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    if not match or match[2] not in units or float(match[1]) == 0:
        raise ValueError(f"must be {wanted}")
    return float(match[1]) * units[match[2]]


NAMED_NEURONS: dict[str, NeuronSpec | Native] = {**NEURONS, NATIVE.label(): NATIVE}

WORDS = {str: "a text", float: "a number", int: "a whole number", bool: "true or false"}


def kind_of(field: Field[Any]) -> Any:
    """Returns the type of a field, also of one that may be None."""
    return next(iter(get_args(field.type)), field.type)


KINDS = {field.name: kind_of(field) for field in fields(NeuronSpec)}
SYNONYMS = {
    "beta": "decay",
    "alpha": "current_decay",
    "v_threshold": "threshold",
    "v_th": "threshold",
    "theta": "threshold",
}
"""Names of our fields in frameworks."""


def parse_neuron_text(text: str) -> NeuronSpec | Native:
    """Parses a neuron on the command line: a name, a framework's neuron, or a table such as
    `{ reset = "hard" }`. Raises ValueError."""
    try:
        return parse_neuron(
            tomllib.loads(f"neuron = {text}")["neuron"] if text.lstrip().startswith("{") else text
        )
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is no table of a neuron's fields: {toml_in_words(error)}") from None


def parse_neuron(value: Any) -> NeuronSpec | Native:
    """Parses a neuron's name, a framework's neuron, or a table of fields that differ from the named
    neuron with the same reset. Raises ValueError."""
    if isinstance(value, NeuronSpec | Native):
        return value
    if isinstance(value, str):
        if is_named(value):
            return read_named(value).spec
        if value not in NAMED_NEURONS:
            dotted = re.sub(r"^\s*(\w+)\s+(?=\w)", r"\1.", value)
            meant = f"; did you mean '{dotted}'?" if dotted != value else ""
            raise ValueError(
                f"must be one of {', '.join(NAMED_NEURONS)}, a framework's neuron such as "
                f"{EXAMPLE}, or a table of a neuron's fields"
                f"{meant or nearest(value, NAMED_NEURONS)}"
            )
        return NAMED_NEURONS[value]
    if not isinstance(value, dict):
        raise ValueError("must be the name of a neuron or a table of its fields")
    if value == NATIVE.as_dict():  # from a result folder
        return NATIVE
    mistakes, valid = [], {}
    for key, item in value.items():
        if mistake := _mistake(key, item):
            mistakes.append(mistake)
        else:
            valid[key] = KINDS[key](item)
    reset = value.get("reset", "soft")
    if isinstance(reset, str) and reset in NEURONS:
        try:
            neuron = replace(NEURONS[reset], **valid)
        except ValueError as error:
            mistakes.append(str(error))
    if mistakes:
        fields_of_all = f" (a neuron's fields are {', '.join(KINDS)})" * (
            not value.keys() <= KINDS.keys()
        )
        raise ValueError("; ".join(mistakes) + fields_of_all)
    return neuron


def neuron_table(spec: NeuronSpec) -> str:
    """Returns the table that `parse_neuron_text` parses: `{ reset = "hard", decay = 0.5 }`."""
    named = NEURONS[spec.reset].as_dict()
    changed = {key: value for key, value in spec.as_dict().items() if named.get(key) != value}
    values = {"reset": spec.reset, **changed}
    words = (
        f"{key} = {str(value).lower() if isinstance(value, bool) else json.dumps(value)}"
        for key, value in values.items()
    )
    return f"{{ {', '.join(words)} }}"


def _mistake(key: Any, item: Any) -> str | None:
    """Returns what is wrong with a field of a neuron's table, None if nothing is."""
    if key not in KINDS:
        return f"has no field {shown(key)}{_meant(SYNONYMS.get(key, key), KINDS)}"
    kind = KINDS[key]
    if not isinstance(item, (int, float) if kind is float else kind) or (
        isinstance(item, bool) and kind is not bool
    ):
        return f"needs {WORDS[kind]} for {key}, not {shown(item)}"
    if item != item:
        return f"has {key} = nan, which is no number"
    if kind in (int, float) and not -LARGEST < item < LARGEST:
        return f"has {key} = {shown(item)}, beyond what float32 can hold"
    if key == "reset" and item not in NEURONS:
        return f"has no reset {shown(item)}" + (
            _meant(item, NEURONS) or f" (there are {', '.join(NEURONS)})"
        )
    return None


def _meant(word: Any, words: Iterable[str]) -> str:
    """Returns the most similar word in brackets: further mistakes may follow."""
    meant = nearest(word, words).removeprefix("; ")
    return f" ({meant})" if meant else ""
