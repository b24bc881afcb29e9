"""Folders as values that can be compared."""

import stat
from pathlib import Path


def tree(folder: Path) -> dict[str, bytes | str]:
    """What lies below a folder, by path: the content of files, where links lead to, and the kind of everything else."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> bytes | str:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        return path.read_bytes()
    return f"link to {path.readlink()}" if stat.S_ISLNK(mode) else stat.filemode(mode)
