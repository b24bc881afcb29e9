"""The files that an adapter is made of, found by following import statements, and one hash of them."""

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("snnbench.adapters", "snnbench.core")
"""An adapter's own code: the adapters with what they share, and the words of the whole house."""


def source_hash(reference: str) -> str:
    """SHA-256 of everything that spells an adapter's network, but its framework: `files_of` and our kernels. Part of what makes
    a finished record count as done. It is the same wherever the files lie."""
    hashes = sorted({_hash(path) for path in files_of(reference)})
    return hashlib.sha256("".join([*hashes, _kernels()]).encode()).hexdigest()


def files_of(reference: str) -> set[Path]:
    """The file of `module:Class` or `path/to/file.py:Class` and what it imports, however deep and wherever in the file: modules
    of this package, those named relative to it, and for a file given by its path those that lie beside it."""
    source = reference.rpartition(":")[0]
    by_path = source.endswith(".py")
    start = Path(source).resolve() if by_path else _origin(source)
    files: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            waiting += _imported(path, start.parent if by_path and not _is_ours(path) else None)
    return files


def imported_modules(reference: str) -> set[str]:
    """Top-level names of what the files outside of this package import, and of the package that they are; empty for an adapter of
    this package. Such an adapter need not name all of it in `requires`."""
    source = reference.rpartition(":")[0]
    found = set() if source.endswith(".py") else {source.partition(".")[0]}
    for path in files_of(reference):
        if not _is_ours(path) and path.suffix == ".py":
            for node in _imports(path.read_bytes()):
                names = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                )
                found |= {name.partition(".")[0] for name in names}
    return found - {"", "snnbench"}


def _origin(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    return Path(spec.origin).resolve()


def _imported(path: Path, folder: Path | None) -> Iterator[Path]:
    """Files that a file imports: the module that each name is, else the module that it comes from. Modules of others are looked
    for in `folder`."""
    for node in _imports(path.read_bytes()) if path.suffix == ".py" else ():
        for alias in node.names:
            if isinstance(node, ast.Import):
                places = [_place(alias.name, folder)]
            else:
                words = (node.module or "").split(".")
                package = (
                    path.parents[node.level - 1].joinpath(*words)
                    if node.level
                    else _place(".".join(words), folder)
                )
                places = [package and package / alias.name, package]
            files = [file for place in places if place and (file := _module(place)).is_file()]
            yield from files[:1]


@cache
def _imports(source: bytes) -> list[ast.Import | ast.ImportFrom]:
    try:
        return [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
    except (SyntaxError, ValueError):
        return []


@cache
def folder_of(package: str) -> Path:
    """The folder of one of `PACKAGES`."""
    return _origin(package).parent


def _is_ours(path: Path) -> bool:
    return any(path.is_relative_to(folder_of(package)) for package in PACKAGES)


def _place(name: str, folder: Path | None) -> Path | None:
    """Where a module of a full name lies, without its ending; None if that is not looked at."""
    for package in PACKAGES:
        if name == package or name.startswith(f"{package}."):
            return folder_of(package).joinpath(*name.removeprefix(package).split("."))
    return folder.joinpath(*name.split(".")) if folder else None


def _module(place: Path) -> Path:
    return place / "__init__.py" if place.is_dir() else place.with_name(place.name + ".py")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _kernels() -> str:
    folder = _origin("snnbench.kernels").parent
    files = sorted(
        file for file in folder.rglob("*") if file.suffix in (".py", ".h", ".cpp", ".cu")
    )
    return hashlib.sha256("".join(map(_hash, files)).encode()).hexdigest()
