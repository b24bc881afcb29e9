"""A full disk, told as that: HDF5 says it in errors of several kinds."""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room on the disk, none that this user may have, and none in a file that a process may write (ulimit -f)."""


def said_by(error: BaseException) -> OSError | None:
    """What the system said, if an error is about one of these; of others None. HDF5 has the system's words in its text."""
    number = getattr(error, "errno", None)
    found = next((each for each in FULL if each == number or os.strerror(each) in str(error)), None)
    return None if found is None else OSError(found, os.strerror(found))


@contextmanager
def told() -> Iterator[None]:
    """Raise OSError, with the system's number, for every error in the block that is about a full disk."""
    try:
        yield
    except Exception as error:
        if full := said_by(error):
            raise full from None
        raise


def ensure_room(folder: Path, size: int) -> None:
    """Raises OSError if a file of so many bytes finds no room in `folder`: for who writes with HDF5 and has no hand in it."""
    with TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)


class Unfailing(io.FileIO):
    """A file for HDF5, which crashes its process some time after a write that failed: none does, and `check` raises the first
    error that there was."""

    failed: OSError | None = None

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        length = len(left)
        with self._remembered():
            while left:  # of what a full disk cuts, the rest raises
                left = left[super().write(left) :]
        return length

    def truncate(self, size: int | None = None) -> int:
        with self._remembered():
            return super().truncate(size)
        return size or 0

    def check(self) -> None:
        """Raises OSError."""
        if self.failed:
            raise self.failed

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check when the block ends, also by an error, which may come from what could not be written."""
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()

    @contextmanager
    def _remembered(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failed = self.failed or error
