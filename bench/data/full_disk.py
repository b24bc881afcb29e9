"""A full disk, told as that: HDF5 says it in errors of several kinds."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room on the disk, none that this user may have, and none in a file that a process may write
(ulimit -f)."""


def said_by(error: BaseException) -> OSError | None:
    """What the system said, if an error is about one of these; of others None. HDF5 has the
    system's words in its text."""
    number = getattr(error, "errno", None)
    found = next((each for each in FULL if each == number or os.strerror(each) in str(error)), None)
    return None if found is None else OSError(found, os.strerror(found))


@contextmanager
def told() -> Iterator[None]:
    """Raise OSError, with the system's number, for every error in the block that is about a full
    disk."""
    try:
        yield
    except Exception as error:
        if full := said_by(error):
            raise full from None
        raise


def ensure_room(folder: Path, size: int) -> None:
    """Raises OSError if a file of so many bytes finds no room in `folder`: for who writes with HDF5
    and has no hand in it."""
    with TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)
