"""TOML text → Experiment. Every mistake ends in one ConfigError that names file, key, value and what would be right."""

import difflib
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from snnbench.adapters.base import NATIVE, Case, Native
from snnbench.kernels.spec import NEURONS, NeuronSpec

from .worker.phases import PHASES

_DURATIONS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
FRAMEWORK = r"^[A-Za-z0-9_.-]+(:(\*|[A-Za-z0-9_.-]+(\+[A-Za-z0-9_.-]+)?))?$"


class ConfigError(Exception):
    """A mistake of the user in a config or on the command line: exit code 2."""


def parse_duration(value: Any) -> float:
    """Seconds in a text such as `500ms`, `60s`, `10m`, `2h`. Raises ValueError."""
    return _quantity(value, _DURATIONS, "a duration such as '500ms', '60s' or '10m'")


def parse_size(value: Any) -> int:
    """Bytes in a text such as `512MiB` or `16GiB`. Raises ValueError."""
    size = int(_quantity(value, _SIZES, "a size such as '512MiB' or '16GiB'"))
    if not size:
        raise ValueError("must be at least one byte")
    return size


def _quantity(value, units, wanted):
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    if not match or match[2] not in units or float(match[1]) == 0:
        raise ValueError(f"must be {wanted}")
    return float(match[1]) * units[match[2]]


NAMED_NEURONS = {**NEURONS, NATIVE.label(): NATIVE}


def parse_neuron(value: Any) -> NeuronSpec | Native:
    """A neuron's name, or a table of fields that differ from the named neuron with the same reset. Raises ValueError."""
    if isinstance(value, NeuronSpec | Native):
        return value
    if isinstance(value, str):
        if value not in NAMED_NEURONS:
            names = ", ".join(NAMED_NEURONS)
            raise ValueError(f"must be one of {names}, or a table of a neuron's fields{nearest(value, NAMED_NEURONS)}")
        return NAMED_NEURONS[value]
    if not isinstance(value, dict):
        raise ValueError("must be the name of a neuron or a table of its fields")
    if value == NATIVE.as_dict():  # as a result folder keeps it
        return NATIVE
    kinds = {field.name: field.type for field in fields(NeuronSpec)}
    for key, item in value.items():
        if key not in kinds:
            raise ValueError(f"has no field {key!r}{nearest(key, kinds)}")
        allowed = {float: (int, float)}.get(kinds[key], kinds[key])
        if not isinstance(item, allowed) or (isinstance(item, bool) and kinds[key] is not bool):
            raise ValueError(f"needs a {kinds[key].__name__} for {key}, not {item!r}")
    reset = value.get("reset", "soft")
    if reset not in NEURONS:
        raise ValueError(f"has no reset {reset!r}{nearest(reset, NEURONS)}")
    return replace(NEURONS[reset], **{key: kinds[key](item) for key, item in value.items()})


def nearest(word: str, words) -> str:
    """`; did you mean 'x'?` if something similar exists."""
    close = difflib.get_close_matches(str(word), [str(w) for w in words], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


Count = Annotated[int, Field(strict=True, gt=0)]
Flag = Annotated[bool, Field(strict=True)]
Duration = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=str)]
Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=str)]
Device = Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
Framework = Annotated[str, Field(pattern=FRAMEWORK)]
Neuron = Annotated[
    NeuronSpec | Native,
    BeforeValidator(parse_neuron, json_schema_input_type=Literal[tuple(NAMED_NEURONS)] | dict[str, bool | float | str]),
]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


def _axis(kind, *default):
    return Annotated[list[kind], Field(min_length=1, default=list(default))]


class Grid(_Table):
    """Every combination is one case."""

    framework: Annotated[
        list[Framework], Field(min_length=1, default=["all"], description="name[:construction][+mode], name:*, all or all:*")
    ]
    device: Annotated[list[Device] | None, Field(min_length=1, default=None, description="default: cuda if there is one")]
    workload: _axis(Literal["linear-lif", "lif"], "linear-lif")
    neuron: _axis(Neuron, NEURONS["soft"])
    layers: _axis(Count, 1)
    neurons: _axis(Count, 256)
    time_steps: _axis(Count, 50)
    batch: _axis(Count, 16)
    precision: _axis(Literal["fp32", "tf32", "bf16", "fp16", "amp-bf16"], "fp32")
    input: _axis(Literal["spikes", "dense"], "spikes")
    bias: _axis(Flag, True)
    input_grad: _axis(Flag, True)


def _with_step(phases: list[str]) -> list[str]:
    if "step" not in phases:
        raise ValueError("must have 'step' among them: cases are ranked by it")
    return phases


class Measure(_Table):
    """How a case is measured. Durations are per case and round."""

    rounds: Count = 3
    rel_ci: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.01
    budget: Duration = 60.0
    timeout: Duration = 600.0
    host_memory: Size = 16 * 2**30
    threads: Annotated[int, Field(strict=True, ge=0)] = 0
    phases: Annotated[
        list[Literal[PHASES]],
        Field(min_length=1, description="what is weighed and timed; step is one of them"),
        AfterValidator(_with_step),
    ] = list(PHASES)
    timed: Annotated[Flag, Field(description="false: only proved and weighed")] = True


class Container(_Table):
    """What `--executor docker` runs workers in. Memory and cores are those of `measure`."""

    image: Annotated[str, Field(min_length=1)] = "snnbench"
    pids: Count = 1024


class Experiment(_Table):
    """One config file."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    adapters: list[str] = []
    exclude: list[dict[str, Any]] = []
    grid: Grid = Field(default_factory=Grid)
    measure: Measure = Field(default_factory=Measure)
    container: Container = Field(default_factory=Container)


def load_config(path: Path, settings: list[str] = ()) -> Experiment:
    """Read `path` and apply `settings` (`grid.neurons=[64]`). Raises ConfigError."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        others = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ConfigError(f"{path}: there is no such file{nearest(path.name, others)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    for setting in settings:
        _apply(values, setting)
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_message(path, error)) from None
    _check_excludes(path, experiment)
    return experiment.model_copy(update={"adapters": [_beside(path, reference) for reference in experiment.adapters]})


def _apply(values: dict, setting: str) -> None:
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {setting}: must look like grid.neurons=[64,128]")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # so that measure.budget=1s needs no quotes inside the shell's
    if key.strip().startswith("grid.") and not isinstance(value, list):
        value = [value]  # nor grid.neuron=native brackets
    *tables, last = key.strip().split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"--set {setting}: {table} is not a table")
    values[last] = value


def _message(path: Path, error: ValidationError) -> str:
    """One sentence for the first of pydantic's errors."""
    first = error.errors()[0]
    place = [part for part in first["loc"] if not str(part).startswith(("function-", "list[", "constrained"))]
    key = ".".join(str(p) for p in place if not isinstance(p, int))
    value, kind = first["input"], first["type"]
    if kind == "extra_forbidden":
        model = {"grid": Grid, "measure": Measure, "container": Container}.get(
            str(place[0]) if len(place) > 1 else "", Experiment
        )
        known = model.model_fields
        where = f"[{place[0]}]" if len(place) > 1 else "the top level"
        return f"{path}: {key}: unknown key{nearest(str(place[-1]), known)} ({where} has {', '.join(known)})"
    if kind == "missing":
        return f"{path}: {key}: is missing"
    return f"{path}: {key} = {shown(value)}: {wanted(first)}"


def wanted(first: dict) -> str:
    kind, context = first["type"], first.get("ctx", {})
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", context["expected"])
        return f"must be one of {', '.join(words)}{nearest(first['input'], words)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return "is empty; name at least one value or leave the key out"
    if kind == "string_pattern_mismatch":
        return {
            FRAMEWORK: "must look like 'norse', 'norse:compile', 'norse:construction+mode' or 'norse:*'",
            r"^(cpu|cuda(:\d+)?)$": "must be 'cpu', 'cuda' or 'cuda:0'",
        }.get(context["pattern"], "may hold letters, digits, dots, dashes and underscores")
    return {
        "greater_than": f"must be above {context.get('gt')}",
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than": f"must be below {context.get('lt')}",
        "int_type": "must be a whole number",
        "bool_type": "must be true or false",
        "list_type": "must be a list, in brackets",
        "tuple_type": "must be a list, in brackets",
        "float_type": "must be a number",
        "float_parsing": "must be a number",
        "string_type": "must be a text, in quotes",
        "model_type": "must be a table",
        "dict_type": "must be a table",
    }.get(kind, first["msg"])


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_excludes(path: Path, experiment: Experiment) -> None:
    known = [field.name for field in fields(Case)]
    for entry in experiment.exclude:
        for key in entry:
            if key not in known:
                raise ConfigError(f"{path}: exclude: unknown key {key!r}{nearest(key, known)}")
        for key, value in entry.items():
            _check_values(path, key, _listed(value))


def _check_values(path: Path, key: str, values: list) -> None:
    """Values of an exclude entry must be ones that the axis could have."""
    if key not in Grid.model_fields:
        return
    try:
        Grid.model_validate({key: values})
    except ValidationError as error:
        raise ConfigError(_message(path, error).replace(f"{path}: ", f"{path}: exclude.", 1)) from None


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _beside(path: Path, reference: str) -> str:
    """Files are named relative to the config that names them."""
    return check_reference(reference, path.parent, f"{path}: adapters")


def check_reference(reference: str, folder: Path, where: str) -> str:
    """`file.py:Class` with an absolute path, or `module:Class` as it is. Raises ConfigError."""
    source, _, name = reference.rpartition(":")
    if not source or not name.isidentifier():
        raise ConfigError(f"{where} = {reference!r}: must look like 'file.py:Class' or 'package.module:Class'")
    if not source.endswith(".py"):
        return reference
    file = (folder / source).resolve()
    if not file.is_file():
        raise ConfigError(f"{where} = {reference!r}: there is no file {file}")
    return f"{file}:{name}"


def json_schema() -> dict:
    """JSON Schema of a config, for editors."""
    return Experiment.model_json_schema()
