"""The table `[data]` of a config: where the workload `data` finds recordings that are not ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..common.mistakes import ConfigError, shown
from ..core.datasets import DATA_SETS, SYNTHETIC


class Data(BaseModel):
    """Real recordings."""

    model_config = ConfigDict(extra="forbid")

    folder: Annotated[
        str | None,
        Field(description="the folder that tonic calls save_to; it has SSC/ssc_train.h5"),
    ] = None


def found(data: Data, place: str, beside: Path, datasets: Sequence[str]) -> Data:
    """The table of the config `place` with an absolute folder, which is named relative to `beside`. Raises ConfigError if real
    recordings of these data sets are not there."""
    real = [name for name in datasets if not name.startswith(SYNTHETIC)]
    if not real:
        return data
    if data.folder is None:
        raise ConfigError(
            f"{place}: grid.dataset = {shown(real[0])}: needs data.folder, where its recordings lie"
        )
    folder = (beside / Path(data.folder).expanduser()).resolve()
    for name in real:
        file, is_file = DATA_SETS[name].file(folder), DATA_SETS[name].is_sound
        if not (file.is_file() if is_file else file.is_dir()):
            what = "file" if is_file else "folder"
            raise ConfigError(
                f"{place}: data.folder = {shown(data.folder)}: there is no {what} {file}"
            )
    return data.model_copy(update={"folder": str(folder)})
