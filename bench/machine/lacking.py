"""What this machine lacks for snnbench, in sentences with the command that brings it.

`make` runs this file before anything is installed, so it imports only the standard library, and
runs on older Pythons, too.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PYTHONS = ((3, 11), (3, 14))
"""The oldest and the newest Python that was tested."""
DISK_BYTES, DISK_WITH_CUDA_BYTES = 3 * 2**30, 8 * 2**30
"""Room for an environment with torch for CPUs, and with torch for CUDA, which PyPI has."""
MEMORY_BYTES = 4 * 2**30
INSTALL = {"apt-get": "sudo apt-get install", "dnf": "sudo dnf install", "pacman": "sudo pacman -S"}


@dataclass(frozen=True)
class Lack:
    """`stops`: nothing can be set up without it."""

    sentence: str
    stops: bool = False


def lacks(
    folder: Path,
    which: Callable[[str], str | None] = shutil.which,
    python: tuple[int, int] = sys.version_info[:2],
    has_module: Callable[[str], bool] = lambda name: importlib.util.find_spec(name) is not None,
    header: Path = Path(sysconfig.get_path("include")) / "Python.h",
    free_bytes: int | None = None,
    memory_bytes: int | None = None,
    platform: str = sys.platform,
) -> list[Lack]:
    """Returns what is missing to install into `folder` and to measure; the rest is for tests."""
    missing: list[Lack] = []

    def lack(sentence: str, stops: bool = False) -> None:
        missing.append(Lack(sentence, stops))

    if platform != "linux":
        lack(f"this is {platform}: snnbench measures on Linux, and was tried nowhere else")
    if not PYTHONS[0] <= python <= PYTHONS[1]:
        oldest, newest = (".".join(map(str, version)) for version in PYTHONS)
        ours = ".".join(map(str, python))
        lack(
            f"this is Python {ours}, and snnbench needs {oldest} to {newest}: "
            f"make PYTHON=python{newest}, or uv python install {newest}",
            stops=True,
        )
    if not has_module("ensurepip"):
        by = _by(which, "python3-venv", "python3", "python")
        lack(f"Python cannot make virtual environments here{by}", stops=True)
    if not any(map(which, ("c++", "g++", "clang++"))) and not os.environ.get("CXX"):
        by = _by(which, "g++", "gcc-c++", "gcc")
        lack(f"no C++ compiler: fused uses its slow spelling, and nothing is compiled{by}")
    if not header.exists():
        by = _by(which, "python3-dev", "python3-devel", "python")
        lack(f"no Python.h: variants with :compile cannot be built{by}")
    if not which("git"):
        by = _by(which, "git", "git", "git")
        lack(f"no git: records do not name the commit of snnbench{by}")
    free = _free(folder) if free_bytes is None else free_bytes
    if free < DISK_WITH_CUDA_BYTES:
        gib = f"{free / 2**30:.1f} GiB are free for {folder}"
        enough = free >= DISK_BYTES
        need = "torch for CPUs needs 3, torch for CUDA 8" if enough else "3 are needed, with CUDA 8"
        lack(f"{gib}: {need}", stops=not enough)
    memory = _memory() if memory_bytes is None else memory_bytes
    if memory < MEMORY_BYTES:
        lack(f"{memory / 2**30:.1f} GiB of memory: larger cases run out of it")
    return missing


def _by(which: Callable[[str], str | None], *packages: str) -> str:
    """Returns the command for the packages of Debian, Fedora and Arch, of which one is here."""
    for place, (program, command) in enumerate(INSTALL.items()):
        if which(program):
            return f" ({command} {packages[place]})"
    return f" (install {packages[0]})"


def _free(folder: Path) -> int:
    """Returns the free bytes of the file system that will have `folder`."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(existing).free


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


if __name__ == "__main__":
    missing = lacks(Path(sys.argv[1]).absolute())
    for each in missing:
        print(f"snnbench: {each.sentence}", file=sys.stderr)
    sys.exit(1 if any(each.stops for each in missing) else 0)
