"""Which of the user's environment variables stand in records."""

import pytest

from snnbench.executors.local import LocalExecutor
from snnbench.executors.variables import MATTER, worker_environment

SECRETS = [
    "TORCH_HUB_TOKEN", "CUDA_SECRET", "JAX_API_KEY", "XLA_PASSWORD", "TRITON_TOKEN", "OMP_SECRET", "MKL_LICENSE", "LD_PRELOAD_2",
    "NVIDIA_API_KEY", "KMP_X", "MALLOC_", "PYTORCH_TOKEN", "HF_TOKEN", "omp_num_threads", "TORCHINDUCTOR_REDIS_URL",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_a_name_that_only_begins_like_one_that_matters_is_no_part_of_a_record(monkeypatch, name):
    monkeypatch.setenv(name, "hunter2")
    assert "hunter2" not in LocalExecutor().inherited().values()


def test_what_changes_a_measurement_is(monkeypatch):
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


def test_what_workers_are_given_is_among_what_matters():
    given = worker_environment("cpu", 1)
    assert given.keys() - MATTER == {"PIP_NO_INDEX"}
