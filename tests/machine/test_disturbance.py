"""Which slots count as disturbed: those that lost time to another process, in any way."""

import pytest

from snnbench.machine.disturbance import disturbance

SLOTS = {
    # what happened: (wall and CPU of the median call, clock, cores, CPU and elapsed seconds,
    # foreign cores, slowed), words
    "nothing, on one core": ((0.010, 0.010, "process", 1, 0.098, 0.101, 0.0, False), None),
    "nothing, on two cores": ((0.010, 0.019, "process", 2, 0.190, 0.101, 0.1, False), None),
    "two cores of which one computes": (
        (0.010, 0.010, "process", 2, 0.098, 0.101, 0.1, False),
        None,
    ),
    "stopped for 5 s within one call, on one core": (
        (0.010, 0.010, "process", 1, 0.098, 5.1, 0.0, False),
        "preempted",
    ),
    "stopped for 5 s within one call, on two cores": (
        (0.010, 0.019, "process", 2, 0.190, 5.1, 0.0, False),
        "preempted",
    ),
    "every call preempted, on one core": (
        (0.011, 0.010, "process", 1, 0.098, 0.110, 0.0, False),
        "preempted",
    ),
    "some calls preempted, on one core": (
        (0.010, 0.010, "process", 1, 0.070, 0.110, 0.0, False),
        "preempted",
    ),
    "a neighbour, on two cores": (
        (0.015, 0.019, "process", 2, 0.140, 0.110, 0.9, False),
        "other programs",
    ),
    "a neighbour on another core": ((0.010, 0.010, "process", 1, 0.098, 0.101, 1.0, False), None),
    "a device that waits for itself": ((0.010, 0.001, "events", 2, 0.010, 0.101, 0.0, False), None),
    "heat": ((0.010, 0.010, "events", 2, 0.098, 0.101, 0.0, True), "throttled"),
}


@pytest.mark.parametrize("what", SLOTS)
def test_what_spoilt_a_slot(what):
    (wall, device, clock, cores, cpu, elapsed, foreign, slowed), words = SLOTS[what]
    assert (
        disturbance({"wall": wall, "device": device}, clock, cores, cpu, elapsed, foreign, slowed)
        == words
    )
