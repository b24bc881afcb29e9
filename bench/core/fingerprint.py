"""Finds the files of an adapter by its import statements, and hashes them."""

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("snnbench.adapters", "snnbench.core")
"""Packages that belong to the code of an adapter."""


def source_hash(reference: str) -> str:
    """Returns the SHA-256 of `files_of` and our kernels, wherever they lie. A finished record
    counts as done only while it is the same."""
    hashes = sorted({_hash(path) for path in files_of(reference)})
    return hashlib.sha256("".join([*hashes, _kernels()]).encode()).hexdigest()


def files_of(reference: str) -> set[Path]:
    """Returns the file of `module:Class` or `path/to/file.py:Class` and, however deep, the files
    that it imports from this package, by relative imports, and, for a path, from its folder."""
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
    """Returns the top-level names of a third-party adapter's package and of its imports, which
    `requires` need not name all; empty for an adapter of this package."""
    source = reference.rpartition(":")[0]
    modules = set() if source.endswith(".py") else {source.partition(".")[0]}
    for path in files_of(reference):
        if not _is_ours(path) and path.suffix == ".py":
            for node in _imports(path.read_bytes()):
                names = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                )
                modules |= {name.partition(".")[0] for name in names}
    return modules - {"", "snnbench"}


def _origin(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    return Path(spec.origin).resolve()


def _imported(path: Path, folder: Path | None) -> Iterator[Path]:
    """Yields the files that a file imports: the module of each name, else the module that holds it.
    Modules of other packages are looked for in `folder`."""
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
    """Returns the folder of one of `PACKAGES`."""
    return _origin(package).parent


def _is_ours(path: Path) -> bool:
    return any(path.is_relative_to(folder_of(package)) for package in PACKAGES)


def _place(name: str, folder: Path | None) -> Path | None:
    """Returns the path of a module, without its suffix; None if it is not looked for."""
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
