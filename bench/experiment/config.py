"""Reads a config, TOML or its values. Every mistake raises a ConfigError that names file, key,
value and the valid values."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
)

from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..common.mistakes import (
    DEVICE,
    FRAMEWORK,
    LARGEST_SEED,
    LARGEST_SIZE,
    OPTION,
    UNVERSIONED,
    ConfigError,
    nearest,
    shown,
    toml_in_words,
    wanted,
)
from ..common.texts import cut
from ..core.case import (
    CASE_FIELDS,
    INPUTS,
    PARALLEL,
    PRECISIONS,
    READOUTS,
    RECIPES,
    SPIKE_SHARE,
    USUAL,
    Case,
    Native,
)
from ..core.datasets import DATA_SETS, FRAMED, SYNTHETIC
from ..core.training import LOSSES, OPTIMIZERS, PLAIN
from ..core.variant import ALL, VariantPattern
from ..schema import MOST_LEVELS
from ..workloads import WORKLOADS
from .measure import Flag, Measure
from .named import NAMED, lines_of
from .network import NIR_HINT, Networks, NetworkTable, network_workloads, resolve_network
from .setting import Setting, about, apply, setting_of
from .shipped import located
from .values import NAMED_NEURONS, parse_neuron

if TYPE_CHECKING:
    Workload = str
    Precision = str
    Input = str
    Loss = str
    OptimizerName = str
    Dataset = str
    Parallel = str
    Readout = str
    Recipe = str
    Framework = VariantPattern
else:  # a type checker cannot read a Literal that is computed
    Workload = Literal[tuple(WORKLOADS)]
    Precision = Literal[PRECISIONS]
    Input = Literal[INPUTS]
    Loss = Literal[PLAIN["loss"], *LOSSES]
    OptimizerName = Literal[PLAIN["optimizer"], *OPTIMIZERS]
    Dataset = Literal[tuple(FRAMED)]
    Parallel = Literal[PARALLEL]
    Readout = Literal[READOUTS]
    Recipe = Literal[RECIPES]
    Framework = Annotated[
        str,
        Field(pattern=FRAMEWORK),
        AfterValidator(VariantPattern.parse),
        PlainSerializer(str, return_type=str),
    ]

Count = Annotated[int, Field(strict=True, gt=0, le=LARGEST_SIZE)]
Seed = Annotated[int, Field(strict=True, ge=0, le=LARGEST_SEED)]
Share = Annotated[float, Field(strict=True, ge=0.001, le=1, allow_inf_nan=False)]
Processes = Annotated[int, Field(strict=True, ge=0, le=256)]
Behind = Annotated[str, Field(pattern=UNVERSIONED)]
Ranks = Annotated[int, Field(strict=True, gt=0, le=1024)]
EXPERIMENT_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Device = Annotated[str, Field(pattern=DEVICE)]
Neuron = Annotated[
    NeuronSpec | Native,
    BeforeValidator(
        parse_neuron,
        json_schema_input_type=Literal[tuple(NAMED_NEURONS)]
        | Annotated[str, Field(pattern=NAMED)]
        | dict[str, bool | float | str],
    ),
    PlainSerializer(lambda neuron: neuron.as_dict(), return_type=dict[str, Any]),
]


class _Table(BaseModel, extra="forbid", arbitrary_types_allowed=True):
    pass


def _axis(default: Any, description: str | None = None) -> Any:
    """Returns the field of an axis; `default` is its one value without the config's."""
    return Field([default], min_length=1, description=description)


class Grid(_Table):
    """Every combination is one case."""

    framework: list[Framework] = Field(
        default_factory=lambda: [VariantPattern(ALL)],
        min_length=1,
        description="name[@version][:variant], name:*, all or all:*; default: all",
    )
    device: list[Device] | None = Field(
        None, min_length=1, description="default: cuda if there is one"
    )
    workload: list[Workload] = _axis(Case.workload)
    neuron: list[Neuron] = _axis(NEURONS["soft"])
    layers: list[Count] = _axis(Case.layers)
    neurons: list[Count] = _axis(Case.neurons)
    time_steps: list[Count] = _axis(Case.time_steps)
    batch: list[Count] = _axis(Case.batch)
    precision: list[Precision] = _axis(Case.precision)
    input: list[Input] = _axis(Case.input)
    bias: list[Flag] = _axis(Case.bias)
    input_grad: list[Flag] = _axis(Case.input_grad)
    width: list[Count] = _axis(16, "channels of a network's first stage")
    image: list[Count] = _axis(32, "pixels of a side")
    classes: list[Count] = _axis(10)
    norm: list[Flag] = _axis(USUAL["norm"], "batch norms in networks that have a choice")
    firing: list[Share] = _axis(SPIKE_SHARE, "share of ones in input = 'spikes'")
    loss: list[Loss] = _axis(PLAIN["loss"], "upstream: a given gradient of the output")
    optimizer: list[OptimizerName] = _axis(PLAIN["optimizer"], "plain: gradient descent")
    dataset: list[Dataset] = _axis(FRAMED[0], "recordings, ours (synthetic-…) or below data.folder")
    samples: list[Count] = _axis(2000, "recordings of an epoch")
    loaders: list[Processes] = _axis(USUAL["loaders"], "processes of torch's DataLoader")
    pinned: list[Flag] = _axis(USUAL["pinned"], "batches through pinned memory")
    augment: list[Flag] = _axis(
        USUAL["augment"], "recordings shifted by some channels, anew in each epoch"
    )
    behind: list[Behind] = _axis(
        USUAL["behind"], "the framework of the network that trains on the batches, or none"
    )
    recipe: list[Recipe] = _axis(USUAL["recipe"], "how it trains: docs/data.md")
    parallel: list[Parallel] = _axis("data", "what ranks share: items of the batch, or time steps")
    ranks: list[Ranks] = _axis(1, "processes (of JAX: devices) that compute a case together")
    inputs: list[Count] = _axis(700, "values of a time step that enter an mlp, or sounds")
    outputs: list[Count] = _axis(20, "neurons of an mlp's last layer")
    recurrent: list[Flag] = _axis(USUAL["recurrent"], "recurrent layers in sequences")
    readout: list[Readout] = _axis(USUAL["readout"], "over time, in networks for sounds")
    heads: list[Count] = _axis(4, "of attention, in transformers")


class Container(_Table):
    """The containers of `--executor docker`. `measure` bounds their memory and cores."""

    image: Annotated[str, Field(min_length=1)] = "snnbench"
    pids: Count = 1024


SBATCH_RESERVED = {
    *("--array", "-a", "--comment", "--output", "-o", "--open-mode", "--parsable"),
    *("--wait", "-W", "--wrap", "--test-only"),
}


def _sbatch_option(option: str) -> str:
    name = option.partition("=")[0] if option.startswith("--") else option[:2]
    if name in SBATCH_RESERVED:
        raise ValueError(f"snnbench sets {name} itself; leave it out")
    return option


Parts = Annotated[int, Field(strict=True, gt=0, le=1000)]
Option = Annotated[str, Field(pattern=OPTION, max_length=500), AfterValidator(_sbatch_option)]


class Slurm(_Table):
    """One array job. Each task runs a part of the experiment: whole comparison groups."""

    parts: Parts = Field(1, description="tasks; each takes whole comparison groups")
    options: list[Option] = Field(
        ["--exclusive"], description="of sbatch: partition, GPUs, cores, memory, time"
    )
    prelude: str = Field(
        "", max_length=10_000, description="lines of bash before it: environment modules"
    )


class Data(_Table):
    """Real recordings, for the workload `data`."""

    folder: Annotated[
        str | None,
        Field(description="the folder that tonic calls save_to; it has SSC/ssc_train.h5"),
    ] = None


def _axes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parsed axes of some keys of a grid. Raises ValidationError."""
    grid = Grid.model_validate(values)
    return {axis: getattr(grid, axis) for axis in grid.model_fields_set}


class Experiment(_Table):
    """One config file."""

    name: Annotated[str, Field(pattern=EXPERIMENT_NAME, max_length=100)]
    seed: Seed = 0
    adapters: list[str] = []
    exclude: list[dict[str, Any]] = []
    grid: Grid = Field(default_factory=Grid)
    include: Annotated[
        list[dict[str, Any]], Field(description="the grid again, with axes in place of its own")
    ] = []
    measure: Measure = Field(default_factory=Measure)
    container: Container = Field(default_factory=Container)
    slurm: Slurm = Field(default_factory=Slurm)
    data: Data = Field(default_factory=Data)
    network: Annotated[
        Networks, Field(description="networks of your own: a table, or several")
    ] = []
    _neuron_lines: list[str] = PrivateAttr(default_factory=list)

    @property
    def grids(self) -> list[Grid]:
        """The grid, and for each `include` the grid with the axes of that table."""
        return [self.grid, *(self.grid.model_copy(update=_axes(entry)) for entry in self.include)]

    @property
    def neuron_lines(self) -> list[str]:
        """A line with its equation for each neuron that the config names as its framework does."""
        return self._neuron_lines


MOST_BYTES = 1 << 20
"""The limit of a config file: a device has no end."""
CONFIG = "config"
"""The name in messages of a config that is no file."""


def load_config(config: Path | Mapping[str, Any], settings: Sequence[Setting] = ()) -> Experiment:
    """Returns the experiment of a TOML file, of a shipped config's name, or of a mapping with the
    same values; `settings` override them. Paths in a mapping are relative to the current folder.
    Raises ConfigError."""
    config = located(config) if isinstance(config, Path) else config
    place, folder = (f"{config}", config.parent) if isinstance(config, Path) else (CONFIG, Path())
    values = _read(config) if isinstance(config, Path) else deepcopy(dict(config))
    apply(values, settings)
    if setting_of("measure.blocks", settings) and not setting_of("measure.most_blocks", settings):
        _limit_to_one_block(values)
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_message(place, error, settings)) from None
    _check_excludes(place, experiment)
    _check_includes(place, experiment)
    tables = [values.get("grid", {}), *experiment.include]
    neurons = [neuron for table in tables for neuron in listed(table.get("neuron", []))]
    experiment._neuron_lines = lines_of(neurons)
    resolve(experiment, place, folder, settings)
    return experiment


def _limit_to_one_block(values: dict[str, Any]) -> None:
    """Drops `most_blocks` of the config if a setting asks for one block: one then means one."""
    measure = values["measure"]
    if measure["blocks"] == 1:
        measure.pop("most_blocks", None)


def resolve(
    experiment: Experiment, place: str, folder: Path, settings: Sequence[Setting] = ()
) -> None:
    """Completes an experiment of the config `place`: the workloads, and absolute paths of files
    that are named relative to `folder`. Raises ConfigError for values that do not fit together."""
    grid = experiment.grid
    grid.workload = network_workloads(
        place, experiment.network, grid.workload, "workload" in grid.model_fields_set
    )
    _check_axes(place, experiment, settings)
    for table in experiment.network:
        resolve_network(table, place, folder)
    if any("data" in each.workload for each in experiment.grids):
        _resolve_recordings(experiment, place, folder)
    experiment.adapters = [
        check_reference(reference, folder, f"{place}: adapters")
        for reference in experiment.adapters
    ]


def _resolve_recordings(experiment: Experiment, place: str, folder: Path) -> None:
    """Makes `data.folder` absolute. Raises ConfigError if real recordings of the grid are
    missing."""
    named = [name for grid in experiment.grids for name in grid.dataset]
    real = [name for name in named if not name.startswith(SYNTHETIC)]
    if not real:
        return
    if (data := experiment.data.folder) is None:
        raise ConfigError(
            f"{place}: grid.dataset = {shown(real[0])}: needs data.folder, where its recordings lie"
        )
    recordings = (folder / Path(data).expanduser()).resolve()
    for name in real:
        file, is_file = DATA_SETS[name].file(recordings), DATA_SETS[name].is_sound
        if not (file.is_file() if is_file else file.is_dir()):
            kind = "file" if is_file else "folder"
            raise ConfigError(f"{place}: data.folder = {shown(data)}: there is no {kind} {file}")
    experiment.data.folder = str(recordings)


def _read(path: Path) -> dict[str, Any]:
    if path.suffix == ".nir":
        raise ConfigError(f"{path}: is no config; {NIR_HINT}")
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        text = content.decode("utf-8")
    except FileNotFoundError:
        others = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ConfigError(f"{path}: there is no such file{nearest(path.name, others)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{path}: is larger than 1 MiB: that is no config")
    too_deep = ConfigError(f"{path}: is nested more than {MOST_LEVELS} levels deep")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:  # also for an integer of more than 4,300 digits
        raise ConfigError(f"{path}: is not TOML: {toml_in_words(error)}") from None
    if _levels(values) > MOST_LEVELS:
        raise too_deep
    return values


def _levels(value: Any) -> int:
    """Returns how deep tables and lists are nested."""
    levels, holders = 0, [value]
    while holders := [each for each in holders if isinstance(each, dict | list)]:
        levels += 1
        holders = [
            inner
            for each in holders
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return levels


def _message(place: str, error: ValidationError, settings: Sequence[Setting] = ()) -> str:
    """Returns a sentence on the first of pydantic's errors, with the file or the setting."""
    first = error.errors()[0]
    inside = [
        part
        for part in first["loc"]
        if not str(part).startswith(("function-", "list[", "constrained"))
    ]
    key = ".".join(str(p) for p in inside if not isinstance(p, int))
    setting, value, kind = setting_of(key, settings), first["input"], first["type"]
    source = setting.source if setting else place
    if kind == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {
            "grid": Grid,
            "measure": Measure,
            "container": Container,
            "data": Data,
            "slurm": Slurm,
            "network": NetworkTable,
        }
        known = tables.get(str(inside[0]) if len(inside) > 1 else "", Experiment).model_fields
        where = f"[{inside[0]}]" if len(inside) > 1 else "the top level"
        last = str(inside[-1])
        homes = [f"{name}.{last}" for name in tables if last in tables[name].model_fields]
        homes += [last] * (last in Experiment.model_fields)
        meant = f"; did you mean '{homes[0]}'?" if homes else nearest(last, known, most=2)
        return f"{source}: {key}: unknown key" + (meant or f" ({where} has {', '.join(known)})")
    if kind == "missing":
        return f"{source}: {key}: is missing"
    return f"{about(key, value, place, settings)}: {wanted(dict(first))}"


def _check_excludes(place: str, experiment: Experiment) -> None:
    """Raises ConfigError for keys that no case has, and for values that the axis cannot have."""
    for key, value in (item for entry in experiment.exclude for item in entry.items()):
        if key not in CASE_FIELDS:
            raise ConfigError(f"{place}: exclude: unknown key {key!r}{nearest(key, CASE_FIELDS)}")
        if key in Grid.model_fields:
            _check_values(f"{place}: exclude.", {key: listed(value)})


def _check_includes(place: str, experiment: Experiment) -> None:
    """Raises ConfigError for keys that are no axis of a network, and for values that the axis
    cannot have."""
    known = [axis for axis in Grid.model_fields if axis not in ("framework", "device")]
    for entry in experiment.include:
        for key, value in entry.items():
            if key not in known:
                raise ConfigError(
                    f"{place}: include: {key!r} is no axis of a network{nearest(key, known)}"
                )
            _check_values(f"{place}: include.", {key: value})


def _check_values(place: str, values: dict[str, Any]) -> None:
    """Raises ConfigError, which begins with `place`, for a value that its axis cannot have."""
    try:
        Grid.model_validate(values)
    except ValidationError as error:
        raise ConfigError(place + _message("", error).removeprefix(": ")) from None


def _check_axes(place: str, experiment: Experiment, settings: Sequence[Setting]) -> None:
    """Raises ConfigError for an axis of the config that no workload uses, and for a firing rate
    without an input of spikes."""

    def check(table: str, named: Collection[str], grids: Sequence[Grid]) -> None:
        def refused(axis: str, subject: str) -> ConfigError:
            key, values = f"{table}.{axis}", getattr(grids[0], axis)
            value = values[0] if len(values) == 1 and setting_of(key, settings) else values
            return ConfigError(
                f"{about(key, value, place, settings)}: means nothing for {subject}; leave it out"
            )

        inputs = list(dict.fromkeys(kind for grid in grids for kind in grid.input))
        if "firing" in named and "spikes" not in inputs and grids[0].firing != [SPIKE_SHARE]:
            raise refused("firing", f"input = {shown(inputs)}")
        if "parallel" in named and all(set(grid.ranks) == {1} for grid in grids):
            raise refused("parallel", "one rank (grid.ranks)")
        for axis in meaningless(grids):
            if axis in named:
                workloads = dict.fromkeys(name for grid in grids for name in grid.workload)
                raise refused(axis, ", ".join(workloads))

    grids = experiment.grids
    check("grid", experiment.grid.model_fields_set, grids)
    for entry, grid in zip(experiment.include, grids[1:], strict=True):
        check("include", entry, [grid])


def meaningless(grids: Sequence[Grid]) -> list[str]:
    """Returns the axes that every workload of the grids ignores."""

    def ignored(name: str, grid: Grid) -> bool:
        alone = name == "parallel" and set(grid.ranks) == {1}
        return alone or all(
            WORKLOADS[workload].ignores(name, getattr(grid, name)) for workload in grid.workload
        )

    return [name for name in Grid.model_fields if all(ignored(name, grid) for grid in grids)]


def listed(value: Any) -> list[Any]:
    """Returns the values of a key in an exclude entry: a list, or one value."""
    return value if isinstance(value, list) else [value]


def check_reference(reference: str, folder: Path, where: str) -> str:
    """Returns `file.py:Class` with an absolute path, `module:Class` unchanged. Raises
    ConfigError."""
    source, _, name = reference.rpartition(":")
    try:
        file = (folder / Path(source).expanduser()).resolve()
        there, beside = file.is_file(), (folder / source).is_file()
    except (OSError, ValueError, RuntimeError) as error:  # long name, NUL, no such home folder
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{where} = {shown(reference)}: cannot be a file: {why}") from None
    module = all(word.isidentifier() for word in source.split(".")) and not beside
    if not name.isidentifier() or not (source.endswith(".py") or module):
        raise ConfigError(
            f"{where} = {shown(reference)}: must look like 'file.py:Class' "
            "or 'package.module:Class'"
        )
    if not source.endswith(".py"):
        return reference
    if not there:
        raise ConfigError(f"{where} = {shown(reference)}: there is no file {cut(str(file), 300)}")
    return f"{file}:{name}"
