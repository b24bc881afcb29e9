"""Files that appear whole or not at all, and locks that the kernel frees however a process dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) so that a reader, or a crash, sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def exclusive(lock: Path, refusal: Exception, wait: float = 0) -> Iterator[None]:
    """Hold the file `lock` during the block. Raises `refusal` if another process holds it for `wait` seconds."""
    try:
        with FileLock(lock, timeout=wait):
            yield
    except Timeout:
        raise refusal from None
