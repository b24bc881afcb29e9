"""Values on their way between a worker and the judge: JSON, and arrays as files in a folder of both."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import numpy as np

from ..core.case import Case
from ..core.contract import FixedPoint
from ..core.result import Answer, Gradients
from ..measure.phases import Draw
from .no_room import own_writing


@dataclass(frozen=True)
class Reference:
    """Something that stays in the worker, by the name that it has there."""

    name: str


RECORDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Answer, Draw, FixedPoint, Gradients, Reference)
}
"""Kinds of values that are handed over field by field."""


def encode(value: Any, folder: Path) -> Any:
    """JSON for `value`; its arrays are written into `folder`. Raises ValueError for what would have to be pickled,
    and NoRoom.

    >>> encode({"a": 1.5, "b": None}, Path())
    {'dict': {'a': 1.5, 'b': None}}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"dict": {str(key): encode(item, folder) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [encode(item, folder) for item in value]}
    if isinstance(value, Case):
        return {"Case": value.as_dict()}
    if type(value).__name__ in RECORDS:
        own = {field.name: encode(getattr(value, field.name), folder) for field in fields(value)}
        return {type(value).__name__: own}
    name, array = f"{uuid4().hex}.npy", np.asarray(value)
    with own_writing():
        folder.mkdir(parents=True, exist_ok=True)  # another worker's adapter may have removed it
        with open(
            folder / name, "wb"
        ) as stream:  # of a file itself NumPy would not say why a write is short
            np.lib.format.write_array(
                cast(Any, SimpleNamespace(write=stream.write)), array, allow_pickle=False
            )
    return {"array": name}


def decode(given: Any, folder: Path) -> Any:
    """The value that `encode` wrote; tuples have become lists. Files of arrays are removed when they are read. Raises ValueError,
    TypeError, KeyError, AttributeError or OSError for anything else."""
    if given is None or isinstance(given, bool | int | float | str):
        return given
    ((kind, content),) = given.items()
    if kind == "dict":
        return {key: decode(item, folder) for key, item in content.items()}
    if kind == "list":
        return [decode(item, folder) for item in content]
    if kind == "Case":
        return Case.from_dict(content)
    if kind in RECORDS:
        return RECORDS[kind](**{name: decode(item, folder) for name, item in content.items()})
    if kind == "array" and re.fullmatch(r"[0-9a-f]{32}\.npy", content):
        with open(folder / content, "rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        (folder / content).unlink()
        return array
    raise ValueError(f"what was handed over is no value: {kind}")
