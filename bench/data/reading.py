"""Opens a data set's files with their reader, and explains failures to read or write them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.contract import Unsupported
from ..core.datasets import DataSet, form_of
from . import full_disk
from .event_files import Gestures, Saccades
from .recordings import Events, Recordings
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


def inspect(dataset: str, folder: Path, samples: int) -> None:
    """Reads the first recordings of the training split of `dataset` below `folder`. Raises
    ConfigError for the first one that no strategy could deliver, with its file and the value."""
    recordings = opened(dataset, folder, samples)
    for number, events in enumerate(recordings.events(samples)):
        if fault := _fault(recordings, number, events):
            raise ConfigError(f"{recordings.place(number)}: {fault}")


FAR = 100
"""Factor by which a recording may be shorter or longer than the part of it that frames show: beyond
it its times are in another unit."""


def _fault(recordings: Recordings, number: int, events: Events) -> str | None:
    """Returns a sentence on wrong times or the wrong label of a recording, or None."""
    data, t, unit = recordings.data, events.t, recordings.unit_us
    label = int(recordings.labels[number])
    if not 0 <= label < data.classes:
        return f"has the label {label}: {data.name} has {data.classes} classes, from 0 on"
    if not len(t):
        return "has no events"
    if not np.isfinite(t).all():
        wrong = int(np.argmin(np.isfinite(t)))
        return f"event {wrong} has the time {t[wrong]}: times must be finite"
    if (np.diff(t) < 0).any():
        wrong = int(np.argmax(np.diff(t) < 0))
        before, after = (f"{value / unit:g}" for value in t[wrong : wrong + 2])
        return f"event {wrong + 1} is earlier than the one before it: {after} follows {before}"
    words = f"{t[0] / unit:g} to {t[-1] / unit:g} {recordings.unit}"
    if not data.longest_us / FAR <= t[-1] <= data.longest_us * FAR:
        return f"its times are {words}: recordings of {data.name} last about {_seconds(data)}"
    if not ((t >= 0) & (t <= data.longest_us)).any():
        return f"its times are {words}: frames show the first {_seconds(data)}"
    return None


def _seconds(data: DataSet) -> str:
    return f"{data.longest_us / 1e6:g} s"


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
