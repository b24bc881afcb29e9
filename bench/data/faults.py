"""What is wrong when a strategy fails: its error may name neither the damaged file nor the full
disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.contract import Unsupported
from . import full_disk
from .reading import opened


@contextmanager
def faults_told(case: Case, folder: Path) -> Iterator[None]:
    """Raise ConfigError in place of any error in the block, in which the strategy of `case` reads
    the recordings below `folder` and writes its cache, if that is what it comes from."""
    try:
        yield
    except (Unsupported, ConfigError):
        raise
    except Exception as error:
        if full := full_disk.said_by(error):
            where = "written where the run's scratch is (SNNBENCH_SCRATCH names another place)"
            raise ConfigError(
                f"{full.strerror}: what {case.framework_variant} keeps is {where}"
            ) from error
        if damage := _damage(case, folder):
            raise ConfigError(damage) from error
        raise


def _damage(case: Case, folder: Path) -> str | None:
    """What our own readers say of the recordings, in a sentence with file and data set; None if
    they read them all."""
    try:
        for _ in opened(case.dataset, folder, case.samples).events(case.samples):
            pass
    except ConfigError as error:
        return str(error)
    return None
