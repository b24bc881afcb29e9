"""Values that win over those of a config: of `--set`, of a verb's option, of an argument in Python."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.mistakes import ConfigError, shown


@dataclass(frozen=True)
class Setting:
    """A value for a key such as `grid.neurons`. `source` is where it comes from, as messages name it: `--set seed=-1`."""

    key: str
    value: Any
    source: str

    def about(self, key: str, value: Any) -> str:
        """What a message about `value`, at `key` or below it, begins with."""
        return f"{self.source}: {key} = {shown(value)}"


class Option(Setting):
    """Of a verb that has options for axes; `source` is its name: `--neurons`."""

    def about(self, key: str, value: Any) -> str:
        return f"{self.source} {value}"


class Argument(Setting):
    """Of a function in Python; `source` is its name: `check`."""

    def about(self, key: str, value: Any) -> str:
        return f"{self.source}({key.removeprefix('grid.')}={shown(value)})"


def parse_setting(text: str) -> Setting:
    """`grid.neurons=[64]`, as `--set` has it: TOML, or a text without quotes. Raises ConfigError."""
    key, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(f"--set {text}: must look like grid.neurons=[64,128]")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except (ValueError, RecursionError):
        value = written  # so that measure.budget=1s needs no quotes inside the shell's
    if key.startswith("grid.") and not isinstance(value, list):
        value = [value]  # nor grid.neuron=native brackets
    return Setting(key, value, f"--set {text}")


def apply(values: dict[str, Any], settings: Iterable[Setting]) -> None:
    """Put the settings into the values of a config. Raises ConfigError."""
    for setting in settings:
        *tables, last = setting.key.split(".")
        inner = values
        for table in tables:
            inner = inner.setdefault(table, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{setting.source}: {table} is not a table")
        inner[last] = setting.value


def setting_of(key: str, settings: Sequence[Setting]) -> Setting | None:
    """The setting that gave a key its value, or the table in which it is."""
    return next((setting for setting in settings if f"{key}.".startswith(f"{setting.key}.")), None)


def about(key: str, value: Any, place: str, settings: Sequence[Setting]) -> str:
    """What a message about a value begins with: the setting that gave it, or the config `place`."""
    setting = setting_of(key, settings)
    return setting.about(key, value) if setting else f"{place}: {key} = {shown(value)}"
