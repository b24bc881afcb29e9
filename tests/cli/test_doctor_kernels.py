"""`snnbench doctor --kernels`: what is shown of a GPU's times, and one sentence where there is
none."""

import json
from dataclasses import replace

import pytest

from snnbench.cli import doctor
from snnbench.environments.inventory import default_environment
from snnbench.executors.events import read_events

RATES = {
    "copy_bytes_per_s": {"1048576": 5e12},
    "cold_copy_bytes_per_s": {"1048576": 4e12},
    "matmul_flops_per_s": {"fp32": 5e13},
}
KERNELS = [
    {
        **{
            "name": "lif forward",
            "spelling": "cuda",
            "format": "fp32",
            "shape": [500, 16, 512],
            "bytes": 33816576,
            "flops": 0.0,
        },
        **{"warm_s": 6.5e-6, "cold_s": 9.25e-6, "warm_share": 0.93, "cold_share": 0.876},
    },
    {
        **{
            "name": "currents",
            "spelling": "library",
            "format": "fp32, split",
            "shape": [100, 16, 512],
            "bytes": 6602752,
        },
        **{
            "flops": 838860800.0,
            "warm_s": 4e-6,
            "cold_s": None,
            "warm_share": 0.2,
            "cold_share": None,
        },
    },
]
FAILED = {
    "name": "lif backward",
    "spelling": "triton",
    "format": "bf16",
    "shape": [100, 16, 512],
    "reason": "no [C] compiler",
}


@pytest.fixture(scope="module")
def default():
    return default_environment()


@pytest.fixture
def on_a_gpu(snnbench, monkeypatch, default):
    """The command where the default environment reaches a GPU and its worker tells of `kernels`;
    None: the real one is asked."""
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    monkeypatch.setattr(
        doctor,
        "default_environment",
        lambda: replace(default, facts={**default.facts, "devices": ["cpu", "cuda"]}),
    )

    def run(kernels, *more):
        if kernels is not None:
            (event,) = read_events(
                json.dumps({"part": "calibration", "ceilings": RATES, "kernels": kernels}).encode()
                + b"\n"
            )
            monkeypatch.setattr(
                doctor, "time_kernels", lambda: (event["ceilings"], event["kernels"])
            )
        return snnbench("doctor", "--kernels", *more)

    return run


def test_times_shares_and_rates_are_shown_and_the_device_s_rates_kept(on_a_gpu, snnbench):
    ended = on_a_gpu(KERNELS)
    assert ended.exit_code == 0 and ended.stderr == ""
    forward, currents = (
        next(line for line in ended.stdout.splitlines() if kernel["name"] in line).split()
        for kernel in KERNELS
    )
    assert (
        " ".join(forward)
        == "lif forward cuda fp32 500 × 16 × 512 32.2 MiB 9.25 µs 87.6% 6.50 µs 93.0%"
    )
    assert (
        " ".join(currents)
        == "currents library fp32, split 100 × 16 × 512 6.30 MiB 4.00 µs 20.0% 209.7 TFLOP"
    )
    assert "copy, cold" in ended.stdout
    (kept,) = (snnbench.folder / "cache" / "rates").glob("*.json")
    assert all(name.startswith("cuda:0") for name in json.loads(kept.read_text())["rates"])


def test_as_json_it_is_one_document(on_a_gpu):
    ended = on_a_gpu(KERNELS, "--json")
    document = json.loads(ended.stdout)
    assert (
        ended.exit_code == 0
        and document["kernels"] == KERNELS
        and document["ceilings"] == {"cuda": RATES}
    )


def test_a_kernel_that_cannot_run_is_named_once_with_its_reason(on_a_gpu):
    ended = on_a_gpu([*KERNELS, FAILED, {**FAILED, "shape": [500, 16, 512]}])
    assert ended.exit_code == 3
    assert (
        ended.stdout.count("triton lif backward: no [C] compiler") == 1
        and "9.25 µs" in ended.stdout
    )
    assert json.loads(on_a_gpu([FAILED], "--json").stdout)["kernels"] == [FAILED]


def test_without_a_gpu_there_is_one_sentence_and_the_exit_code_for_nothing_measured(
    snnbench, monkeypatch, default
):
    monkeypatch.setattr(
        doctor,
        "default_environment",
        lambda: replace(default, facts={**default.facts, "devices": ["cpu"]}),
    )
    monkeypatch.setattr(doctor, "time_kernels", lambda: pytest.fail("it was tried"))
    for more in ([], ["--json"], ["--calibrate"]):
        ended = snnbench("doctor", "--kernels", *more)
        assert (ended.exit_code, ended.stdout) == (6, "")
        assert (
            ended.message
            == "snnbench: --kernels: the default environment reaches no CUDA device here"
        )


def test_a_worker_that_reaches_no_gpu_is_one_sentence_too(on_a_gpu, snnbench):
    """With a driver, and a torch that cannot use it."""
    snnbench.environment["CUDA_VISIBLE_DEVICES"] = ""
    ended = on_a_gpu(None)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.message.startswith("snnbench: nothing could be measured: ")
    assert "CUDA" in ended.message or "NVIDIA" in ended.message
