"""Times that no device reaches are refused, by whichever clock they were told."""

from types import SimpleNamespace

import pytest
from support.networks import network_of

from snnbench.core.case import Case
from snnbench.measure.floor import Ceilings, floor, shortest
from snnbench.runner.outcome import refuse_impossible

CASE = Case("mine", workload="lif", neurons=512, time_steps=100, batch=16, device="cuda")
RATES = Ceilings({1 << 20: 4e12, 1 << 24: 4e12}, {})
FLOOR = floor(CASE, network_of(CASE), "step", RATES, 0.5)
PLANNED = SimpleNamespace(case=CASE, adapter=SimpleNamespace(reference="mine.py:Mine"))
EVENTS = [
    {
        "part": "ceilings",
        "nonzero": 0.5,
        "rates": {"copy_bytes_per_s": {str(1 << 20): 4e12, str(1 << 24): 4e12}},
    }
]


def folded_of(*slots, clock="events"):
    """The fields of a record of which the step took 40 µs by the host's clock, and what `slots`
    say."""
    own = [{"wall": 40e-6, "device": None, **slot} for slot in slots]
    return {
        "status": "ok",
        "reason": None,
        "parts": {"step": {"timing": {"device_clock": clock, "slots": own}}},
    }


@pytest.fixture
def refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path))

    def reason(folded):
        refuse_impossible(folded, EVENTS, PLANNED, "machine", 2)
        part = folded["parts"]["step"]
        assert part["floor_s"] == pytest.approx(FLOOR) and (folded["status"], folded["reason"]) == (
            ("implausible", part["reason"]) if "reason" in part else ("ok", None)
        )
        return part.get("reason")

    return reason


def test_honest_times_of_a_device_are_below_those_of_the_host_and_above_the_floor(refused):
    assert FLOOR < 20e-6
    assert refused(folded_of({"device": 1.2 * FLOOR, "device_warm": 1.01 * FLOOR})) is None
    assert refused(folded_of({})) is None


@pytest.mark.parametrize("clock", ["device", "device_warm"])
def test_a_device_that_ends_before_it_can_is_refused(refused, clock):
    """As of work on a stream that was not waited for."""
    reason = refused(
        folded_of(
            *[
                {"device": FLOOR, "device_warm": FLOOR} | {clock: share * FLOOR}
                for share in (0.8, 0.0, 0.7)
            ]
        )
    )
    assert reason.startswith(f"on the device {0.7 * FLOOR:.3e} s is below 0.9 of the floor")


def test_a_wall_time_below_the_floor_is_told_as_before(refused):
    reason = refused(folded_of({"wall": 0.5 * FLOOR, "device": FLOOR}))
    assert reason.startswith(f"{0.5 * FLOOR:.3e} s is below 0.9 of the floor")


def test_one_slot_is_not_the_median_and_cpu_time_is_no_clock_of_a_device(refused):
    assert (
        refused(folded_of({"device": FLOOR}, {"device": 0.0}, {"device": FLOOR}, {"device": None}))
        is None
    )
    assert refused(folded_of({"device": 0.0}, clock="process")) is None


def test_the_shortest_is_of_all_clocks_that_told_something():
    slots = [
        {"wall": 5.0, "device": None},
        {"wall": 7.0, "device": 3.0, "device_warm": 2.0},
        {"wall": 6.0, "device": 4.0},
    ]
    assert (shortest(slots, "events"), shortest(slots, "process")) == (2.0, 6.0)
