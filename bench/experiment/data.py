"""The table `[data]` of a config: where the workload `data` finds recordings that are not ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..data.datasets import DATA_SETS, SYNTHETIC
from ..mistakes import ConfigError, shown


class Data(BaseModel):
    """Real recordings."""

    model_config = ConfigDict(extra="forbid")

    folder: Annotated[str | None, Field(description="the folder that tonic calls save_to; it has SSC/ssc_train.h5")] = None


def found(data: Data, place: str, beside: Path, datasets: Sequence[str]) -> Data:
    """The table of the config `place` with an absolute folder, which is named relative to `beside`. Raises ConfigError if real
    recordings of these data sets are not there."""
    real = [name for name in datasets if not name.startswith(SYNTHETIC)]
    if not real:
        return data
    if data.folder is None:
        raise ConfigError(f"{place}: grid.dataset = {shown(real[0])}: needs data.folder, where its recordings lie")
    folder = (beside / Path(data.folder).expanduser()).resolve()
    for name in real:
        if not (file := DATA_SETS[name].file(folder)).is_file():
            raise ConfigError(f"{place}: data.folder = {shown(data.folder)}: there is no file {file}")
    return data.model_copy(update={"folder": str(folder)})
