"""The folder that caches compiled kernels between processes. A file in it is complete or absent."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import platformdirs

build_seconds = 0.0
"""Seconds that this process has spent compiling kernels missing in the folder."""


def cache_folder() -> Path:
    """Returns $SNNBENCH_CACHE or snnbench/kernels in the user's cache folder; if it is read-only, a
    temporary folder."""
    folder = _preferred_folder()
    return folder if _writable(folder) else Path(_folder_of_this_process().name)


def cached(key: str, suffix: str, build: Callable[[Path], object]) -> Path:
    """Returns the file of `key`, written by `build(path)` if it is missing or damaged.

    `key` must name everything that the content depends on, in characters that are valid in file
    names. Processes may build the same file at once: each writes a temporary file and renames it.
    Errors of `build` propagate and leave no file.
    """
    global build_seconds
    name = f"{key}{suffix}"
    if _intact(path := _preferred_folder() / name) or _intact(path := cache_folder() / name):
        return path
    start = time.perf_counter()
    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.stem[:16]}-", suffix=path.suffix, dir=path.parent
    )
    os.close(handle)
    unfinished = Path(temporary)
    try:
        build(unfinished)
        unfinished.chmod(0o644)  # other users may share the folder
        _checksum_file(path).write_text(_digest(unfinished))
        unfinished.replace(path)
    finally:
        build_seconds += time.perf_counter() - start
        unfinished.unlink(missing_ok=True)
    return path


def _intact(path: Path) -> bool:
    """Returns True if the file has its checksum: loading truncated code would kill the process."""
    try:
        return _checksum_file(path).read_text() == _digest(path)
    except OSError:
        return False


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _preferred_folder() -> Path:
    if folder := os.environ.get("SNNBENCH_CACHE"):
        return Path(folder).expanduser()
    return platformdirs.user_cache_path("snnbench") / "kernels"


def _writable(folder: Path) -> bool:
    """Returns True if a file can be created: permission bits miss root and read-only mounts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@lru_cache(maxsize=1)
def _folder_of_this_process() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="snnbench-kernels-", ignore_cleanup_errors=True)
