"""A disk that is full when the harness itself writes: a fault of no case."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

FULL = (errno.ENOSPC, errno.EDQUOT)


class NoRoom(BaseException):
    """The harness found no room for what it writes itself. No code that catches errors may take it for an adapter's."""


@contextmanager
def own_writing() -> Iterator[None]:
    """Raise NoRoom where a disk is full in the block, in which nothing but the harness writes."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoRoom from error
        raise
