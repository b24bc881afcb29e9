"""Values passed between a worker and the judge: JSON, and arrays as files in a shared folder."""

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
from .sandbox import harness_writing


@dataclass(frozen=True)
class Reference:
    """An object that stays in the worker, by its name there."""

    name: str


RECORDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Answer, Draw, FixedPoint, Gradients, Reference)
}
"""Kinds of values that are passed field by field."""


def encode(value: Any, folder: Path) -> Any:
    """Returns `value` as JSON; its arrays are written into `folder`.

    Raises ValueError for an object that only pickle could write, and HarnessDiskFull.

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
        content = {each.name: encode(getattr(value, each.name), folder) for each in fields(value)}
        return {type(value).__name__: content}
    name, array = f"{uuid4().hex}.npy", np.asarray(value)
    with harness_writing():
        folder.mkdir(parents=True, exist_ok=True)  # another worker's adapter may have removed it
        # NumPy would not report why a write into a real file object is short.
        with open(folder / name, "wb") as stream:
            np.lib.format.write_array(
                cast(Any, SimpleNamespace(write=stream.write)), array, allow_pickle=False
            )
    return {"array": name}


def decode(encoded: Any, folder: Path) -> Any:
    """Returns the value that `encode` wrote, with lists for tuples; removes the files of arrays.

    Raises ValueError, TypeError, KeyError, AttributeError or OSError for anything else.
    """
    if encoded is None or isinstance(encoded, bool | int | float | str):
        return encoded
    ((kind, content),) = encoded.items()
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
    raise ValueError(f"not an encoded value: {kind}")
