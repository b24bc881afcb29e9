"""The state of the machine during measurements, its part in a record, and disturbed slots."""

import subprocess
import sys

import pytest
from support.synthetic import record, table_of

from snnbench.machine.monitor import (
    MOST_READINGS,
    Monitor,
    condensed,
    disturbance,
    reader_of,
    slowed,
)
from snnbench.machine.processes import cpu_seconds
from snnbench.records.rows import rows_of
from snnbench.report.figures.slots import slots


def test_equal_readings_are_stored_once():
    reasons = [0, 0, 0, 0, 0, 0, 0, 0x4, 0x40]
    readings = [
        {"at": i, "mhz": 3000 if i < 5 else 2900, "throttle_reasons": bits}
        for i, bits in enumerate(reasons)
    ]
    stored = condensed(readings)
    assert stored["watched"] == {"at": [0, 5, 7, 8], "mhz": [3000, 2900, 2900, 2900]}
    assert slowed(stored["throttle_reasons"]) == ["its power limit", "heat"]


def test_the_record_of_a_long_run_stays_small():
    stored = condensed([{"at": float(i), "mhz": float(i)} for i in range(10 * MOST_READINGS + 7)])
    assert (
        MOST_READINGS / 2 < len(stored["watched"]["at"]) <= MOST_READINGS
        and stored["watched"]["at"][0] == 0.0
    )


def test_a_machine_without_readings_is_no_error():
    with Monitor(dict) as monitor:
        pass
    assert monitor.facts == {"watched": {}, "throttle_reasons": 0}


def test_a_short_worker_is_watched_too():
    with Monitor(lambda: {"mhz": 2100.0}) as monitor:
        pass
    assert monitor.facts["watched"]["mhz"] == [2100.0]


def test_the_monitor_reports_foreign_cores():
    with Monitor(reader_of("cpu")) as monitor:
        monitor.note_workers(0.0)
    assert monitor.facts["foreign_cores"] >= 0 and "watched" in monitor.facts


def test_a_compiler_of_the_worker_is_not_foreign():
    child = [sys.executable, "-c", "import time; sum(range(10**6)); print(time.process_time())"]
    before = cpu_seconds()
    spent = float(subprocess.run(child, capture_output=True, check=True).stdout)
    assert cpu_seconds() - before >= 0.9 * spent


def test_clock_and_slots_of_a_process_share_one_time_axis():
    made = record(step=0.004)  # slots from 100 s to 100.5 s
    clock = slots(table_of([made])).panels[-1]
    last = made.timing("step").slots[-1]
    end = last.began - 100 + last.calls * last.wall
    assert [(point["at"], point["value"]) for point in clock.points] == [
        (0.0, 3100.0),
        (0.01, 3050.0),
        (0.03, 2900.0),
        (float(f"{end:.4g}"), 2900.0),
    ]


def test_a_device_that_slowed_down_is_flagged():
    made = record()
    assert "throttled" not in rows_of([made])[0].quality
    made.monitor["throttle_reasons"] = 0x40
    assert "throttled" in rows_of([made])[0].quality


SLOTS = {
    # wall and CPU of the median call, clock, cores, CPU and elapsed seconds, foreign cores, slowed
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


@pytest.mark.parametrize("name", SLOTS)
def test_disturbed_slots(name):
    (wall, device, clock, cores, cpu, elapsed, foreign, slowed), words = SLOTS[name]
    assert (
        disturbance({"wall": wall, "device": device}, clock, cores, cpu, elapsed, foreign, slowed)
        == words
    )
