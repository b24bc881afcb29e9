"""The table `[network]` of a config: the source of a network, and what a NIR file does not say."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr

from snnbench.kernels.spec import LARGEST, NEURONS, SURROGATES, NeuronSpec

from ..common.mistakes import ConfigError, shown
from ..common.texts import cut
from ..core.case import NETWORK

if TYPE_CHECKING:
    Surrogate = str
else:  # a type checker cannot read a Literal that is computed
    Surrogate = Literal[SURROGATES]

Positive = Annotated[float, Field(strict=True, gt=0, lt=LARGEST, allow_inf_nan=False)]
NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"

OF_NIR = ("dt", "decay", "reset", "gain", "detach_reset", "surrogate", "slope")
"""Keys that apply to NIR files only."""
REQUIRED = {
    "dt": "dt, the time of a step in the unit of the file's time constants, such as 1e-4",
    "decay": "decay, 'euler' (1 - dt/tau) or 'exact' (exp(-dt/tau))",
    "reset": (
        "reset, 'soft' (the threshold is subtracted), 'soft-undecayed' (after the decay, as in "
        "snnTorch) or 'hard' (to zero)"
    ),
}


class NetworkFault(ValueError):
    """A file gives no network; the text continues a sentence that begins with the file's name."""


class NetworkTable(BaseModel, extra="forbid"):
    """One network: a NIR file, or a Python function without arguments that returns a `Network`."""

    nir: Annotated[
        str | None, Field(min_length=1, description="a NIR file, relative to the config")
    ] = None
    python: Annotated[
        str | None, Field(min_length=1, description="file.py:function, relative to the config")
    ] = None
    name: Annotated[
        str | None,
        Field(pattern=NAME, max_length=64, description="default: its file, and function"),
    ] = None
    dt: Annotated[
        Positive | None,
        Field(description="time of a step in the unit of the file's time constants"),
    ] = None
    decay: Annotated[
        Literal["euler", "exact"] | None, Field(description="1 - dt/tau, or exp(-dt/tau)")
    ] = None
    reset: Annotated[
        Literal["soft", "soft-undecayed", "hard"] | None,
        Field(description="the threshold is subtracted, before or after the decay, or to zero"),
    ] = None
    gain: Annotated[
        Literal["nir", "unit"], Field(description="of currents: (1 - decay) r, or 1")
    ] = "nir"
    detach_reset: Annotated[
        bool | None, Field(strict=True, description="no gradient through the reset")
    ] = None
    surrogate: Surrogate = "superspike"
    slope: Positive = 1.0
    _reference: str = PrivateAttr("")

    @property
    def reference(self) -> str:
        """The network's name in cases, with a hash of its content; empty until it is read."""
        return self._reference

    @reference.setter
    def reference(self, reference: str) -> None:
        self._reference = reference

    @property
    def file(self) -> Path:
        """The NIR file, or the function's file."""
        return Path(self.nir if self.nir is not None else (self.python or "").rpartition(":")[0])

    @property
    def key(self) -> str:
        return "nir" if self.nir is not None else "python"

    @property
    def neuron(self) -> NeuronSpec:
        """The neuron of a NIR file, without its decay; the threshold is 1."""
        named = NEURONS[self.reset or "soft"]
        detached = named.detach_reset if self.detach_reset is None else self.detach_reset
        return NeuronSpec(named.reset, detached, surrogate=self.surrogate, slope=self.slope)

    @property
    def called(self) -> str:
        """The table's name, by default that of the file: `mlp` of mlp.nir, `mine.net` of
        mine.py:net."""
        if self.name:
            return self.name
        function = "" if self.python is None else f".{self.python.rpartition(':')[2]}"
        text = (self.file.stem.lstrip(".-") or "network") + function
        return re.sub(r"[^A-Za-z0-9_.-]", "-", text)[:64].lstrip(".-") or "network"


def listed(value: Any) -> Any:
    """Returns a list of one table, or of several."""
    return [value] if isinstance(value, dict) else value


Networks = Annotated[list[NetworkTable], BeforeValidator(listed)]


NIR_HINT = (
    "a NIR file is the network of a config: nir = 'FILE.nir' in a table [network], of which "
    "docs/own-networks.md has an example"
)


def network_workloads(
    place: str, tables: Sequence[NetworkTable], workloads: list[str], named: bool
) -> list[str]:
    """Returns the workloads of a grid; without any that is `named` it is the tables' networks, if
    there are tables. Raises ConfigError if the tables are unused or missing."""
    if tables and not named:
        return [NETWORK]
    if tables and NETWORK not in workloads:
        raise ConfigError(
            f"{place}: grid.workload = {shown(workloads)}: has no {NETWORK!r}, "
            "which the table [network] is for"
        )
    if NETWORK in workloads and not tables:
        raise ConfigError(
            f"{place}: grid.workload: {NETWORK!r} needs a config with a table [network], "
            "which says where the network comes from; docs/own-networks.md has one"
        )
    return workloads


def resolve_network(table: NetworkTable, place: str, folder: Path) -> None:
    """Makes the path in a table of the config `place` absolute; it is relative to `folder`. Raises
    ConfigError for missing and superfluous keys, and for a missing file."""
    if (table.nir is None) == (table.python is None):
        raise ConfigError(
            f"{place}: network: needs either nir = 'file.nir' or python = 'file.py:function'"
        )
    if table.nir is not None:
        for key, words in REQUIRED.items():
            if getattr(table, key) is None:
                raise ConfigError(
                    f"{place}: network.{key}: is missing: a NIR file does not say {words}"
                )
    elif more := [
        key
        for key in OF_NIR
        if key in table.model_fields_set and key in table.model_dump(exclude_defaults=True)
    ]:
        raise ConfigError(
            f"{place}: network.{more[0]}: is for nir; a function's nodes have their neurons"
        )
    source, _, function = (
        (table.python or "").rpartition(":") if table.nir is None else (table.nir, "", "")
    )
    if table.python is not None and not (function.isidentifier() and source.endswith(".py")):
        raise ConfigError(
            f"{place}: network.python = {shown(table.python)}: must look like 'file.py:function'"
        )
    try:
        file = (folder / Path(source).expanduser()).resolve()
        there = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # long name, NUL, no such home folder
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{place}: network.{table.key} = {shown(source)}: cannot be a file: {why}"
        ) from None
    if not there:
        raise ConfigError(
            f"{place}: network.{table.key} = {shown(source)}: "
            f"there is no file {cut(str(file), 300)}"
        )
    if table.nir is None:
        table.python = f"{file}:{function}"
    else:
        table.nir = str(file)
