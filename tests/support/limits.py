"""What the kernel refuses."""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """This process may write so many bytes into a file: the kernel refuses more, as it does on a
    full disk. Python would keep a part of each compiled module, so it writes none."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    in_children = mock.patch.dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    with in_children, mock.patch.object(sys, "dont_write_bytecode", True):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
