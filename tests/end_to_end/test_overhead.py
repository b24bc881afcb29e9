"""Workers import nothing of the harness's libraries, and the harness no framework."""

import json
import subprocess
import sys

import pytest

FOREIGN = (
    "pydantic",
    "typer",
    "pandas",
    "rich",
    "jinja2",
    "psutil",
    "filelock",
    "torch",
    "jax",
    "snnbench.experiment.config",
    "snnbench.cli",
)
IMPORTS = (
    "import json, sys; import {}; print(json.dumps([name for name in {!r} if name in sys.modules]))"
)


@pytest.mark.parametrize(
    "module",
    [
        "snnbench.worker.network_case",
        "snnbench.worker.judging",
        "snnbench.worker.__main__",
        "snnbench.proof.free_run",
        "snnbench.worker.describe",
        "snnbench.measure.ceilings",
        "snnbench.adapters",
        "snnbench.adapters.registry",
    ],
)
def test_a_worker_imports_neither_the_harness_s_libraries_nor_a_framework(module):
    source = IMPORTS.format(module, FOREIGN)
    ended = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(ended.stdout) == []


def test_the_parent_imports_no_framework():
    source = IMPORTS.format("snnbench.runner.execute", ("torch", "jax", "norse", "snntorch"))
    ended = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(ended.stdout) == []
