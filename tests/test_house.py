"""The house: which rooms may import which, and how many rooms and floors there are."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.paths import ROOT

# Floors, low to high. A room imports rooms of lower floors only; a floor's rooms know nothing of
# each other.
FLOORS = [
    {"kernels", "common"},
    {"core", "machine"},
    {"adapters", "data", "schema", "workloads"},
    {"measure", "experiment"},
    {"proof", "records", "executors"},
    {"worker", "environments", "report"},
    {"community", "runner"},
    {"api", "cli", "testing"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# A worker runs in a framework's environment, which has NumPy and nothing of the harness's.
IN_WORKERS = {"core", "worker", "proof", "measure", "workloads"}
PLAIN = {"kernels.spec", "kernels.surrogates", "machine.cores", "machine.processes"}
"""Modules that import the standard library and each other only."""

OPEN_TO_WORKERS = IN_WORKERS | PLAIN | {"adapters", "common", "data"}
"""What of this project a worker's rooms may import; folders with all that is in them."""
IN_FUNCTIONS = {
    "core.cuda_queue": {"torch"},
    "core.rolling": {"jax"},
}
"""Libraries that a module of a worker's rooms imports once they are loaded."""

DOORS = {"", "__main__"}
"""Files of the package itself, `import snnbench` and `python -m snnbench`: no rooms."""

MOST_ROOMS, MOST_FLOORS = 22, 8


def module_of(path: Path, root: Path) -> str:
    """The name of a file's module below `snnbench`: `experiment.grid` for
    bench/experiment/grid.py."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    parts = parts[1:] if parts[0] == "bench" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path) -> dict[str, Path]:
    return {
        module_of(path, root): path
        for package in ("bench", "adapters", "kernels")
        for path in (root / package).rglob("*.py")
    }


def imports(name: str, path: Path, known: set[str], types: bool = True) -> set[str]:
    """Full names of what a file imports anywhere in it, our own without `snnbench.`, as deep as
    they are modules.

    `types` adds what is imported under `if TYPE_CHECKING`, which no program runs.
    """
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in _nodes(ast.parse(path.read_text()), types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ["snnbench", *package][: len(package) + 2 - node.level] if node.level else []
            base = ".".join([*above, *(node.module.split(".") if node.module else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    ours = {
        import_.removeprefix("snnbench.") for import_ in found if import_.startswith("snnbench.")
    }
    return {_module(import_, known) for import_ in ours} | {
        import_ for import_ in found if not import_.startswith("snnbench")
    }


def _nodes(tree: ast.AST, types: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if types or not (
            isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING"
        ):
            yield node
            yield from _nodes(node, types)


def _module(name: str, known: set[str]) -> str:
    """The module in which a name lies; "" for what lies in `snnbench` itself."""
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def room_of(name: str) -> str:
    return name.partition(".")[0]


def arrows(root: Path, types: bool = True) -> dict[str, set[str]]:
    """Module → the modules of ours that it imports."""
    known = modules(root)
    return {
        name: imports(name, path, set(known), types) & set(known) - {""}
        for name, path in known.items()
    }


def upward(root: Path) -> list[str]:
    """Imports that do not go down, and rooms that have no floor."""
    wrong = []
    for name, targets in arrows(root).items():
        for target in sorted(targets):
            here, there = room_of(name), room_of(target)
            if (
                here not in DOORS
                and here != there
                and not FLOOR.get(there, 99) < FLOOR.get(here, -1)
            ):
                wrong.append(f"{name} imports {target}")
    return sorted(wrong)


def circles(root: Path) -> list[str]:
    """Modules that reach themselves by imports, in functions too, but not by imports of types
    alone."""
    graph, circular = arrows(root, types=False), []
    for start in graph:
        seen, todo = set(), list(graph[start] - {start})
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += graph.get(name, ())
        if start in seen:
            circular.append(start)
    return sorted(circular)


def strangers_in_workers(root: Path) -> list[str]:
    """What the rooms of workers, and plain modules, import beyond what they may."""
    known, wrong = modules(root), []
    for name, path in known.items():
        inside = room_of(name) in IN_WORKERS
        for target in imports(name, path, set(known)) - {""} if inside or name in PLAIN else ():
            allowed = OPEN_TO_WORKERS if inside else PLAIN
            ours = any(target == open_ or target.startswith(f"{open_}.") for open_ in allowed)
            library = target.partition(".")[0] in sys.stdlib_module_names or (
                inside and target.partition(".")[0] == "numpy"
            )
            library = library or target.partition(".")[0] in IN_FUNCTIONS.get(name, ())
            if not (ours or (library and target not in known)):
                wrong.append(f"{name} imports {target}")
    return sorted(wrong)


def test_imports_go_down():
    assert upward(ROOT) == []


def test_there_is_no_circle():
    assert circles(ROOT) == []


def test_workers_need_numpy_alone():
    assert strangers_in_workers(ROOT) == []


def test_every_room_has_a_floor_and_there_are_few():
    rooms = {room_of(name) for name in modules(ROOT)} - DOORS
    assert rooms <= FLOOR.keys()
    assert len(rooms) <= MOST_ROOMS
    assert len(FLOORS) <= MOST_FLOORS


def test_every_package_is_installed_and_typed():
    """setuptools is told the packages one by one, because of their places. Configs are files
    without code."""
    text = (ROOT / "pyproject.toml").read_text()
    listed = set(re.findall(r'^    "snnbench\.?([a-z_.]*)",$', text, re.MULTILINE))
    assert listed - {"configs"} == {
        name for name, path in modules(ROOT).items() if path.name == "__init__.py"
    }
    assert all(
        (ROOT / package / "py.typed").exists() for package in ("bench", "adapters", "kernels")
    )


PLANTED = {
    # what finds it: (file, its text, what is said)
    upward: (
        "bench/machine/facts.py",
        "def f():\n    from ..runner import execute\n",
        ["machine.facts imports runner.execute"],
    ),
    circles: (
        "bench/runner/execute.py",
        "import snnbench.runner.check\n",
        ["runner.check", "runner.execute"],
    ),
    strangers_in_workers: (
        "bench/worker/judging.py",
        "import json, psutil\nimport numpy as np\n"
        "from snnbench.adapters import Case\nfrom snnbench.kernels import LIF\nfrom ..runner import execute\n",
        [
            "worker.judging imports kernels",
            "worker.judging imports psutil",
            "worker.judging imports runner.execute",
        ],
    ),
}


@pytest.mark.parametrize("finder", PLANTED, ids=lambda finder: finder.__name__)
def test_a_planted_fault_is_found(tmp_path, finder):
    right = {
        "bench/__init__.py": "",
        "bench/machine/facts.py": "from ..common import files\n",
        "bench/common/__init__.py": "",
        "bench/common/files.py": "",
        "bench/runner/__init__.py": "",
        "bench/runner/plan.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .order import Order\n",
        "bench/runner/order.py": "from . import plan\n",
        "bench/runner/check.py": "from . import execute\nfrom ..machine.facts import f\n",
        "bench/runner/execute.py": "import numpy, rich\nfrom .. import __version__\n",
        "bench/worker/judging.py": "import json\nfrom .. import __version__\nfrom snnbench.adapters import Case\n",
        "adapters/__init__.py": "",
        "kernels/__init__.py": "",
        "kernels/spec.py": "from dataclasses import dataclass\n",
    }
    path, text, said = PLANTED[finder]
    for file, source in right.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(source)
    assert finder(tmp_path) == []
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    assert finder(tmp_path) == said
