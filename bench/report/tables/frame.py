"""The table of results.csv as a pandas DataFrame with declared types, and as a Parquet file."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from snnbench.kernels.spec import NeuronSpec

from ...common.mistakes import ConfigError
from ...core.case import Case
from ...experiment.values import kind_of
from ..columns.metric import Metric
from ..columns.metrics import METRICS
from ..table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

DTYPES = {"count": "Int64", "bytes": "Int64", "": "string"}
"""Types by unit; other units are float64."""
CATEGORIES = (
    *("framework", "construction", "mode", "variant", "device", "workload", "neuron"),
    *("precision", "input", "loss", "optimizer", "status", "proof", "machine"),
)
OF_KINDS: dict[Any, str] = {bool: "boolean", int: "Int64", float: "float64"}
TYPED = {
    **{each.name: OF_KINDS.get(kind_of(each)) for each in fields(Case)},
    **{f"neuron_{each.name}": OF_KINDS.get(kind_of(each)) for each in fields(NeuronSpec)},
    **dict.fromkeys(CATEGORIES, "category"),
    **dict.fromkeys(("proved", "ranked"), "boolean"),
    **dict.fromkeys(("graph_breaks", "recompiles", "threads", "slots"), "Int64"),
    **dict.fromkeys(("schema", "learning_steps"), "Int64"),
    **dict.fromkeys(("p_holm", "best_ranks", "input_scale", "last_loss"), "float64"),
}
"""Types of columns that their unit does not tell."""


def dtype_of(metric: Metric) -> str:
    """Returns the type of a metric's column."""
    return TYPED.get(metric.name) or DTYPES.get(metric.unit, "float64")


def frame_of(table: Table) -> DataFrame:
    """Returns a line per case with the columns of results.csv: float64 with NaN; Int64, boolean,
    string and category with NA. `attrs` has `units` by column, and `machines`. Raises
    ModuleNotFoundError without pandas."""
    pandas = _imported("pandas", "frames need pandas: pip install 'snnbench[pandas]'")
    values = {
        metric.name: [entry.values[metric.name] for entry in table.entries] for metric in METRICS
    }
    typed: dict[str, Any] = {metric.name: dtype_of(metric) for metric in METRICS}
    for name in CATEGORIES:  # which are texts even where there are none
        known = sorted({value for value in values[name] if value is not None})
        typed[name] = pandas.CategoricalDtype(pandas.Index(known, dtype=str))
    frame = pandas.DataFrame(
        {name: pandas.Series(of, dtype="object").astype(typed[name]) for name, of in values.items()}
    )
    frame.attrs = {
        "units": {metric.name: metric.unit for metric in METRICS if metric.unit},
        "machines": sorted({str(name) for name in frame["machine"].dropna()}),
    }
    return frame


def parquet_bytes(table: Table) -> bytes:
    """Returns results.parquet. pandas restores the types of `frame_of`; other readers find 64-bit
    numbers, booleans, texts and dictionaries of texts. Raises ConfigError without pandas or
    pyarrow."""
    try:
        for name in ("pandas", "pyarrow"):
            _imported(name, f"Parquet files need {name}: pip install 'snnbench[parquet]'")
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
    stream = BytesIO()
    frame_of(table).to_parquet(stream, engine="pyarrow", index=False)
    return stream.getvalue()


def _imported(name: str, advice: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(advice, name=name) from None
