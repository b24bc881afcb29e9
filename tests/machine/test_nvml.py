"""A driver that refuses a question: its answer is empty, and nothing ends."""

from types import SimpleNamespace

import pynvml
import pytest

from snnbench.cli import doctor
from snnbench.machine.facts import machine_facts, machine_label
from snnbench.machine.monitor import Monitor, reader_of
from snnbench.machine.room import Room

ANSWERS = {
    "nvmlInit": None, "nvmlDeviceGetCount": 1, "nvmlDeviceGetHandleByIndex": 7, "nvmlDeviceGetName": "GPU 97",
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=97 << 30, free=90 << 30, used=7 << 30), "nvmlSystemGetDriverVersion": "1.2",
    "nvmlDeviceGetClockInfo": 1980, "nvmlDeviceGetTemperature": 41, "nvmlDeviceGetPowerUsage": 97000,
    "nvmlDeviceGetCurrentClocksEventReasons": 4,
}  # fmt: skip
"""By question, of a device that tells everything."""
TOLD = {"name": "GPU 97", "memory_bytes": 97 << 30, "driver": "1.2"}
EMPTY = {"name": "NVIDIA GPU", "memory_bytes": None, "driver": ""}


@pytest.fixture
def driver(monkeypatch):
    def refusing(refused, error=pynvml.NVMLError_NotSupported):
        def raises(*given):
            raise error()

        for name, answer in ANSWERS.items():
            said = raises if name == refused else lambda *given, answer=answer: answer
            monkeypatch.setattr(pynvml, name, said)

    return refusing


def test_a_driver_that_tells_everything(driver):
    driver(None)
    assert machine_facts()["gpus"] == [TOLD]
    assert reader_of("cuda")() == {
        "mhz": 1980, "memory_mhz": 1980, "celsius": 41, "watts": 97.0, "memory_bytes": 7 << 30, "throttle_reasons": 4
    }  # fmt: skip
    assert Room("cuda").for_one_more


@pytest.mark.parametrize("error", [pynvml.NVMLError_NoPermission, pynvml.NVMLError_FunctionNotFound, AttributeError])
@pytest.mark.parametrize("refused", ANSWERS)
def test_each_question_may_be_refused(driver, refused, error):
    driver(refused, error)
    facts = machine_facts()
    assert machine_label(facts) and len(facts["gpus"]) == (refused not in ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"))
    assert all(gpu[name] in (EMPTY[name], TOLD[name]) for gpu in facts["gpus"] for name in TOLD)
    with Monitor(reader_of("cuda")) as monitor:
        pass
    assert "watched" in monitor.facts
    assert Room("cuda").for_one_more == (refused not in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetHandleByIndex"))


def test_doctor_answers_whatever_is_refused(driver, snnbench):
    driver("nvmlDeviceGetMemoryInfo")
    assert doctor.machine_facts()["gpus"][0]["memory_bytes"] is None
    answer = snnbench("doctor")
    assert answer.exit_code == 0 and "GPU 97" in answer.stdout
