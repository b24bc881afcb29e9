"""Folders as values that can be compared, and committed sets as folders."""

import stat
from pathlib import Path

from snnbench.records.bundle import BundleFile
from snnbench.records.merge import merge_folders
from snnbench.records.store import ResultFolder

from .paths import committed


def tree(folder: Path) -> dict[str, bytes | str]:
    """What lies below a folder, by path: the content of files, where links lead to, and the kind
    of everything else."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def unbundled(name: str, folder: Path) -> Path:
    """Writes a committed set as a result folder, as a run leaves it, and returns that folder."""
    merge_folders([BundleFile(committed(name))], ResultFolder(folder))
    return folder


def _content(path: Path) -> bytes | str:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        return path.read_bytes()
    return f"link to {path.readlink()}" if stat.S_ISLNK(mode) else stat.filemode(mode)
