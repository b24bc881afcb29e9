"""What the harness itself costs is measured with an internal null probe, and workers import
nothing of the harness's."""

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


def test_overhead_is_what_no_part_explains_and_stands_beside_the_null_probe(snnbench):
    ended = snnbench.run(
        snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"], measure="blocks = 2")
    )
    assert len(ended.records) == 2
    for record in ended.records:
        parts = sum(
            part["seconds"] or 0 for name, part in record["parts"].items() if name != "recheck"
        )
        slots = [
            slot
            for part in record["parts"].values()
            if part["timing"]
            for slot in part["timing"]["slots"]
        ]
        assert (
            0
            < record["overhead_s"]
            < record["duration_s"] - parts - sum(slot["elapsed"] for slot in slots)
        )
        assert 0 < record["monitor"]["null_s"] < 60
    assert len({record["monitor"]["null_s"] for record in ended.records}) == 1, "probed once a run"
