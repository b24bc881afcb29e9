"""Recognises a full disk: HDF5 reports it in errors of several kinds."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space on the disk, none left in the user's quota, none in a file that a process may write
(ulimit -f)."""


def cause_of(error: BaseException) -> OSError | None:
    """Returns the system's error if `error` is about one of these, else None. HDF5 has the system's
    words in its text."""
    number = getattr(error, "errno", None)
    code = next((each for each in FULL if each == number or os.strerror(each) in str(error)), None)
    return None if code is None else OSError(code, os.strerror(code))


@contextmanager
def named() -> Iterator[None]:
    """Raises OSError with the system's number for every error in the block that is about a full
    disk."""
    try:
        yield
    except Exception as error:
        if full := cause_of(error):
            raise full from None
        raise


def ensure_room(folder: Path, size: int) -> None:
    """Raises OSError if a file of `size` bytes has no room in `folder`: HDF5 itself gives no way to
    check."""
    with TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)
