"""Energy counters, where a machine lets them be read."""

import sys
from types import SimpleNamespace

import pytest

from snnbench.machine import nvml
from snnbench.machine.energy import RAPL, EnergyMeter, energy_of_call, meter_of


def domain(root, folder, name, microjoules, most=1_000_000):
    place = root / RAPL / folder
    place.mkdir(parents=True, exist_ok=True)
    for file, value in (("name", name), ("energy_uj", microjoules), ("max_energy_range_uj", most)):
        (place / file).write_text(f"{value}\n")
    return place


def test_all_packages_are_added_and_nothing_twice(tmp_path):
    domain(tmp_path, "intel-rapl:0", "package-0", 400_000)
    domain(tmp_path, "intel-rapl:0:0", "core", 300_000)
    domain(tmp_path, "intel-rapl:1", "package-1", 100_000)
    domain(tmp_path, "intel-rapl:2", "psys", 900_000)
    meter = meter_of("cpu", tmp_path)
    assert meter.source == "CPU packages (RAPL)" and meter.joules() == 0.5


def test_a_counter_that_begins_anew_goes_on(tmp_path):
    domain(tmp_path, "intel-rapl:0", "package-0", 900_000)
    meter = meter_of("cpu", tmp_path)
    before = meter.joules()
    domain(tmp_path, "intel-rapl:0", "package-0", 150_000)
    assert meter.between(before) == pytest.approx(0.25)
    domain(tmp_path, "intel-rapl:0", "package-0", 250_000)
    assert meter.between(before) == pytest.approx(0.35)


@pytest.mark.parametrize("damage", ["absent", "unreadable", "words"])
def test_what_cannot_be_read_is_unknown(tmp_path, damage):
    place = domain(tmp_path, "intel-rapl:0", "package-0", 1)
    if damage == "absent":
        (place / "energy_uj").unlink()
    elif damage == "unreadable":
        (place / "energy_uj").unlink()
        (place / "energy_uj").mkdir()
    else:
        (place / "energy_uj").write_text("none")
    assert meter_of("cpu", tmp_path) is None
    assert meter_of("cpu", tmp_path / "nothing") is None


def test_a_package_that_can_no_longer_be_read_makes_the_sum_unknown(tmp_path):
    domain(tmp_path, "intel-rapl:0", "package-0", 400_000)
    other = domain(tmp_path, "intel-rapl:1", "package-1", 100_000)
    meter = meter_of("cpu", tmp_path)
    (other / "energy_uj").unlink()
    assert meter.joules() is None and meter.between(0.1) is None and meter.between(None) is None


@pytest.mark.parametrize("told", [1500, None])
def test_a_gpu_tells_its_millijoules_or_nothing(monkeypatch, told):
    class Refused(Exception):
        pass

    def energy(handle):
        if told is None:
            raise Refused
        return told

    pynvml = SimpleNamespace(
        NVMLError=Refused,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: f"device {index}",
        nvmlDeviceGetTotalEnergyConsumption=energy,
    )
    monkeypatch.setitem(sys.modules, "pynvml", pynvml)
    assert nvml.handle_of(1) == "device 1"
    meter = meter_of("cuda:1")
    assert (meter and (meter.source, meter.joules())) == (("GPU (NVML)", 1.5) if told else None)


def test_the_energy_of_a_step_is_that_of_a_burst_over_its_calls():
    readings, orders = iter([10.0, 12.0]), []
    meter = EnergyMeter("a meter", lambda: next(readings))

    def order(**given):
        orders.append(given)
        return {"took": 1.0}

    assert energy_of_call(meter, order, 0.004) == {"energy_j": 2.0 / 250, "energy_of": "a meter"}
    assert orders == [{"burst": 250}]


@pytest.mark.parametrize(
    ("readings", "told"),
    [([1.0, 1.0], {}), ([None, 2.0], {}), ([1.0, None], {}), ([1.0, 2.0], None)],
)
def test_without_a_reading_or_an_answer_nothing_is_known(readings, told):
    left = iter(readings)
    assert (
        energy_of_call(EnergyMeter("a meter", lambda: next(left)), lambda **given: told, 10.0) == {}
    )
