"""A query that the driver refuses is no error; GPUs have the numbers of frameworks."""

from types import SimpleNamespace

import pynvml
import pytest

from snnbench.cli import doctor
from snnbench.machine.facts import machine_facts, machine_label
from snnbench.machine.memory import Room
from snnbench.machine.monitor import Monitor, reader_of
from snnbench.machine.nvml import device_count, handle_of

ANSWERS = {
    "nvmlInit": None,
    "nvmlDeviceGetCount": 1,
    "nvmlDeviceGetHandleByIndex": 7,
    "nvmlDeviceGetName": "GPU 97",
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=97 << 30, free=90 << 30, used=7 << 30),
    "nvmlSystemGetDriverVersion": "1.2",
    "nvmlDeviceGetClockInfo": 1980,
    "nvmlDeviceGetTemperature": 41,
    "nvmlDeviceGetPowerUsage": 97000,
    "nvmlDeviceGetCurrentClocksEventReasons": 4,
}
"""By query, of a driver that refuses nothing."""
KNOWN = {"name": "GPU 97", "memory_bytes": 97 << 30, "driver": "1.2"}
EMPTY = {"name": "NVIDIA GPU", "memory_bytes": None, "driver": ""}


@pytest.fixture
def driver(monkeypatch):
    def refusing(refused, error=pynvml.NVMLError_NotSupported):
        def raises(*_):
            raise error()

        for name, answer in ANSWERS.items():
            result = raises if name == refused else lambda *_, answer=answer: answer
            monkeypatch.setattr(pynvml, name, result)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return refusing


def test_a_driver_that_refuses_nothing(driver):
    driver(None)
    assert machine_facts()["gpus"] == [KNOWN]
    assert reader_of("cuda")() == {
        "mhz": 1980,
        "memory_mhz": 1980,
        "celsius": 41,
        "watts": 97.0,
        "memory_bytes": 7 << 30,
        "throttle_reasons": 4,
    }
    assert Room("cuda").for_one_more


@pytest.mark.parametrize(
    "error", [pynvml.NVMLError_NoPermission, pynvml.NVMLError_FunctionNotFound, AttributeError]
)
@pytest.mark.parametrize("refused", ANSWERS)
def test_each_query_may_be_refused(driver, refused, error):
    driver(refused, error)
    facts = machine_facts()
    assert machine_label(facts) and len(facts["gpus"]) == (
        refused not in ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex")
    )
    assert all(gpu[name] in (EMPTY[name], KNOWN[name]) for gpu in facts["gpus"] for name in KNOWN)
    with Monitor(reader_of("cuda")) as monitor:
        pass
    assert "watched" in monitor.facts
    assert Room("cuda").for_one_more == (
        refused not in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetHandleByIndex")
    )


def test_doctor_works_with_refused_queries(driver, snnbench):
    driver("nvmlDeviceGetMemoryInfo")
    assert doctor.machine_facts()["gpus"][0]["memory_bytes"] is None
    answer = snnbench("doctor")
    assert answer.exit_code == 0 and "GPU 97" in answer.stdout


BOARDS = ["GPU-aa970000-0000", "GPU-aa410000-0000", "GPU-bb370000-0000"]
"""UUIDs of three GPUs; the driver's handles are their indices."""


@pytest.fixture
def three(driver, monkeypatch):
    """A machine with three GPUs; the last is partitioned."""
    driver(None)

    def at(index):
        if index not in range(3):
            raise pynvml.NVMLError_InvalidArgument()
        return index

    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: 3)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", at)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", lambda handle: BOARDS[handle])
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByUUID", {"MIG-cc": "a part"}.__getitem__)
    monkeypatch.setattr(
        pynvml, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", {"a part": 2}.__getitem__
    )
    monkeypatch.setattr(pynvml, "nvmlDeviceGetTemperature", lambda handle, sensor: 40 + handle)
    free = {0: 1 << 30, 1: 2 << 30, 2: 3 << 30, "a part": 4 << 30}
    memory = lambda handle: SimpleNamespace(total=97 << 30, free=free[handle], used=0)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", memory)


@pytest.mark.parametrize(
    "variable, devices, handles",
    [
        (None, 3, [0, 1, 2, None]),
        ("2", 1, [2, None]),
        ("2,0", 2, [2, 0, None]),
        ("", 0, [None]),
        ("-1", 0, [None]),
        ("1,-1,2", 1, [1, None]),
        ("none", 0, [None]),
        ("GPU-bb", 1, [2, None]),
        ("GPU-aa41,GPU-aa97", 2, [1, 0, None]),
        ("GPU-dd", 0, [None]),
        ("MIG-cc", 1, ["a part", None]),
    ],
)
def test_gpus_have_the_numbers_of_frameworks(three, monkeypatch, variable, devices, handles):
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert device_count() == devices == len(machine_facts()["gpus"])
    assert [handle_of(index) for index in range(len(handles))] == handles


@pytest.mark.parametrize(
    "variable, celsius, free",
    [("1,0", 40, 1 << 30), ("0,1", 41, 2 << 30), ("0,MIG-cc", 42, 4 << 30)],
)
def test_the_watched_gpu_is_the_computing_one(three, monkeypatch, variable, celsius, free):
    """A part of a GPU has the clocks of the whole and its own memory."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert reader_of("cuda:1")()["celsius"] == celsius
    assert Room("cuda:1").initial == free
