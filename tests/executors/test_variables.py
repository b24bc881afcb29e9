"""Records hold the user's environment variables that change measurements, and no others."""

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
