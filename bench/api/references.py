"""Adapters that somebody holds in Python: workers import them from their files."""

import inspect
from pathlib import Path

from ..common.mistakes import ConfigError, shown


def reference_of(adapter: str | type) -> str:
    """`file.py:Class`, or `package.module:Class`, of an adapter's class; a text as it is. Raises ConfigError for a class that no
    other process could import."""
    if isinstance(adapter, str):
        return adapter
    if not isinstance(adapter, type):
        raise ConfigError(
            f"{shown(adapter)}: must be the name of a framework, 'file.py:Class', or the class of an adapter"
        )
    name = adapter.__qualname__
    if not name.isidentifier():
        raise ConfigError(
            f"{name}: is inside another class or a function, where no worker finds it; put it at the top of a file"
        )
    if "." in adapter.__module__:
        return f"{adapter.__module__}:{name}"
    try:
        file = Path(inspect.getfile(adapter))
    except (TypeError, OSError):
        file = Path()
    if file.suffix != ".py" or not file.is_file():
        example = f"in a notebook with %%writefile mine.py, then check('mine.py:{name}')"
        raise ConfigError(
            f"{name}: has no file, and workers import it from there; write it to one, {example}"
        )
    return f"{file.resolve()}:{name}"


def is_reference(text: str) -> bool:
    """Whether a text names a class, and not a framework or a variant of one, such as `torch:compile`."""
    source, colon, _ = text.rpartition(":")
    words = source.split(".")
    return bool(colon) and (
        source.endswith(".py") or (len(words) > 1 and all(word.isidentifier() for word in words))
    )
