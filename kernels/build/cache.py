"""Where compiled kernels are kept between processes, and how a file gets there whole or not at all."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

build_seconds = 0.0
"""Time that this process has spent building what was not there yet."""


def cache_folder() -> Path:
    """$SNNBENCH_CACHE, or snnbench/kernels in the user's cache folder; where that cannot be written, one of this process."""
    folder = _wanted_folder()
    return folder if _writable(folder) else _folder_of_this_process()


def cached(key: str, suffix: str, build: Callable[[Path], None]) -> Path:
    """The file of `key`: the one that is there, else what `build(path)` writes to the path that it is given.

    `key` must name everything that the result depends on, in characters of file names. Concurrent processes may each
    build, and the last one's file stays; a process that is killed leaves a temporary file that nobody reads. What
    `build` raises is raised here, and nothing is kept then.
    """
    name = f"{key}{suffix}"
    if _intact(kept := _wanted_folder() / name):
        return kept
    folder = cache_folder()
    if _intact(kept := folder / name):
        return kept
    global build_seconds
    start = time.perf_counter()
    handle, unfinished = tempfile.mkstemp(prefix=f".{key[:16]}-", suffix=suffix, dir=folder)
    os.close(handle)
    try:
        build(Path(unfinished))
        os.chmod(unfinished, 0o644)  # a cache may be shared
        _checksum(kept).write_text(_digest(Path(unfinished)))
        os.replace(unfinished, kept)
    finally:
        build_seconds += time.perf_counter() - start
        Path(unfinished).unlink(missing_ok=True)
    return kept


def _intact(kept: Path) -> bool:
    """Whether the file is there and is what was built: code that a crash cut short would take the process down."""
    try:
        return _checksum(kept).read_text() == _digest(kept)
    except OSError:
        return False


def _checksum(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _wanted_folder() -> Path:
    if wanted := os.environ.get("SNNBENCH_CACHE"):
        return Path(wanted).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "snnbench" / "kernels"


def _writable(folder: Path) -> bool:
    """Whether a file can be made there, which permission bits alone do not tell (root, read-only mounts)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@lru_cache(maxsize=1)
def _folder_of_this_process() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="snnbench-kernels-", ignore_cleanup_errors=True)
    _folder_of_this_process.holder = holder  # kept alive, and removed when the process ends
    return Path(holder.name)
