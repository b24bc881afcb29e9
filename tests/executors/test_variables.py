"""Records hold the user's environment variables that change measurements, and no others."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from snnbench.executors.local import LocalExecutor
from snnbench.executors.variables import INFLUENTIAL, worker_environment

SECRETS = [
    "TORCH_HUB_TOKEN",
    "CUDA_SECRET",
    "JAX_API_KEY",
    "XLA_PASSWORD",
    "TRITON_TOKEN",
    "OMP_SECRET",
    "MKL_LICENSE",
    "LD_PRELOAD_2",
    "NVIDIA_API_KEY",
    "KMP_X",
    "MALLOC_",
    "PYTORCH_TOKEN",
    "HF_TOKEN",
    "omp_num_threads",
    "TORCHINDUCTOR_REDIS_URL",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_variable_with_a_similar_name_is_not_recorded(monkeypatch, name):
    monkeypatch.setenv(name, "hunter2")
    assert "hunter2" not in LocalExecutor().inherited().values()


def test_a_variable_that_changes_measurements_is_recorded(monkeypatch):
    asked = [
        "OMP_PROC_BIND",
        "XLA_FLAGS",
        "LD_PRELOAD",
        "NVIDIA_TF32_OVERRIDE",
        "CUDA_LAUNCH_BLOCKING",
        "MKL_CBWR",
        "KMP_AFFINITY",
    ]
    for name in asked:
        monkeypatch.setenv(name, "1")
    assert dict.fromkeys(asked, "1").items() <= LocalExecutor().inherited().items()


def test_variables_of_workers_change_measurements():
    variables = worker_environment("cpu", 1)
    assert variables.keys() - INFLUENTIAL == {"PIP_NO_INDEX"}


def test_torchs_openmp_waits_without_spinning():
    library = Path(find_spec("torch").origin).parent / "lib" / "libgomp.so.1"
    if not library.exists():
        pytest.skip("this torch brings no libgomp of its own")
    ours = {"OMP_DISPLAY_ENV": "VERBOSE", **worker_environment("cpu", 2)}
    loaded = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r})"],
        env=os.environ | {"OMP_WAIT_POLICY": "ACTIVE"} | ours,
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    settings = {line.strip().removeprefix("[host] ") for line in loaded.splitlines()}
    assert {"OMP_WAIT_POLICY = 'PASSIVE'", "GOMP_SPINCOUNT = '0'"} <= settings, loaded
