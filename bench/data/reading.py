"""Opens a data set's files with their reader, and explains failures to read or write them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.contract import Unsupported
from ..core.datasets import DataSet, form_of
from . import full_disk
from .event_files import Gestures, Saccades
from .recordings import Recordings
from .sounds import Sounds

READERS: dict[str, Callable[[DataSet, Path], Recordings]] = {
    "ssc": Sounds,
    "shd": Sounds,
    "nmnist": Saccades,
    "dvsgesture": Gestures,
}


def opened(dataset: str, folder: Path, samples: int) -> Recordings:
    """Returns the recordings of the training split of `dataset` below `folder`. Raises ConfigError
    if they are fewer than `samples` or cannot be read."""
    data = form_of(dataset)
    recordings = READERS[data.name](data, data.file(folder))
    if len(recordings) < samples:
        raise ConfigError(
            f"{recordings.path}: has {len(recordings):,} recordings, and grid.samples asks for "
            f"{samples:,}"
        )
    return recordings


@contextmanager
def explained_faults(case: Case, folder: Path) -> Iterator[None]:
    """Raises ConfigError in place of an error that comes from damaged recordings below `folder` or
    from a full disk. The error of the strategy of `case` may name neither."""
    try:
        yield
    except (Unsupported, ConfigError):
        raise
    except Exception as error:
        if full := full_disk.cause_of(error):
            where = "written where the run's scratch is (SNNBENCH_SCRATCH names another place)"
            raise ConfigError(
                f"{full.strerror}: what {case.framework_variant} keeps is {where}"
            ) from error
        if damage := _damage(case, folder):
            raise ConfigError(damage) from error
        raise


def _damage(case: Case, folder: Path) -> str | None:
    """Returns the damage that the project's own readers find, with file and data set; None if they
    read all recordings."""
    try:
        for _ in opened(case.dataset, folder, case.samples).events(case.samples):
            pass
    except ConfigError as error:
        return str(error)
    return None
