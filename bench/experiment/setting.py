"""Values that override a config: of `--set`, of a command's option, of an argument in Python."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.mistakes import ConfigError, shown


@dataclass(frozen=True)
class Setting:
    """A value for a key such as `grid.neurons`. `source` is its name in messages: `--set
    seed=-1`."""

    key: str
    value: Any
    source: str

    def about(self, key: str, value: Any) -> str:
        """Returns the beginning of a message about `value`, at `key` or below it."""
        return f"{self.source}: {key} = {shown(value)}"


class Option(Setting):
    """A command's option for an axis; `source` is its name: `--neurons`."""

    def about(self, key: str, value: Any) -> str:
        return f"{self.source} {value}"


class Argument(Setting):
    """An argument of a function in Python; `source` is the function's name: `check`."""

    def about(self, key: str, value: Any) -> str:
        table, _, name = key.rpartition(".")
        if table == "grid":
            return f"{self.source}({name}={shown(value)})"
        return f"{self.source}({table}={{{name!r}: {shown(value)}}})"


def parse_setting(text: str) -> Setting:
    """Parses `grid.neurons=[64]` of `--set`: TOML, or a text without quotes. Raises ConfigError."""
    key, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(f"--set {text}: must look like grid.neurons=[64,128]")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except (ValueError, RecursionError):
        value = written  # measure.budget=1s needs no quotes
    if key.startswith("grid.") and not isinstance(value, list):
        value = [value]  # grid.neuron=native needs no brackets
    return Setting(key, value, f"--set {text}")


def apply(values: dict[str, Any], settings: Iterable[Setting]) -> None:
    """Puts the settings into the values of a config. Raises ConfigError."""
    for setting in settings:
        *tables, last = setting.key.split(".")
        inner = values
        for table in tables:
            inner = inner.setdefault(table, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{setting.source}: {table} is not a table")
        inner[last] = setting.value


def setting_of(key: str, settings: Sequence[Setting]) -> Setting | None:
    """Returns the setting of a key, or of a table that holds it."""
    return next((setting for setting in settings if f"{key}.".startswith(f"{setting.key}.")), None)


def about(key: str, value: Any, place: str, settings: Sequence[Setting]) -> str:
    """Returns the beginning of a message about a value, with its setting or the config `place`."""
    setting = setting_of(key, settings)
    return setting.about(key, value) if setting else f"{place}: {key} = {shown(value)}"
