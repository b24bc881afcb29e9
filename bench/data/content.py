"""Identifies the content of the recordings that a case reads, so that a record counts for no
other."""

import hashlib
from functools import lru_cache
from pathlib import Path

from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.datasets import SYNTHETIC, form_of
from .files import GENERATOR
from .reading import READERS


def content_of(case: Case, folder: Path | None) -> str:
    """Returns a text that is the same for the same recordings, in whichever folder: of real ones
    below `folder` a hash of the files with the case's samples, of synthetic ones what they are made
    from. Raises ConfigError if files are missing or cannot be read."""
    if case.dataset.startswith(SYNTHETIC):
        return f"generator {GENERATOR}, seed {case.seed}"
    assert folder is not None, "load_config wants a folder for real recordings"
    data = form_of(case.dataset)
    path = data.file(folder)
    files = [path] if data.is_sound else READERS[data.name](data, path).files(case.samples)
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(path.parent)}\0{_digest(file)}\0".encode())
    return f"sha256:{whole.hexdigest()}"


def _digest(file: Path) -> str:
    try:
        status = file.stat()
        return _digest_of(file, status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None


@lru_cache(maxsize=1 << 17)
def _digest_of(file: Path, size: int, changed: int, inode: int) -> str:
    """Returns the hash of a file. Cached: the cases of a run read the same files."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
