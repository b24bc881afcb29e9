"""What is watched while a worker measures, and what of it a record stores."""

import subprocess
import sys

from support.synthetic import record, table_of

from snnbench.machine.monitor import MOST_READINGS, Monitor, condensed, reader_of, slowed
from snnbench.records.rows import rows_of
from snnbench.report.figures.slots import slots
from snnbench.worker.__main__ import cpu_seconds


def test_what_stays_the_same_is_kept_once():
    reasons = [0, 0, 0, 0, 0, 0, 0, 0x4, 0x40]
    readings = [
        {"at": i, "mhz": 3000 if i < 5 else 2900, "throttle_reasons": bits}
        for i, bits in enumerate(reasons)
    ]
    stored = condensed(readings)
    assert stored["watched"] == {"at": [0, 5, 7, 8], "mhz": [3000, 2900, 2900, 2900]}
    assert slowed(stored["throttle_reasons"]) == ["its power limit", "heat"]


def test_however_long_a_worker_runs_a_record_stays_small():
    stored = condensed([{"at": float(i), "mhz": float(i)} for i in range(10 * MOST_READINGS + 7)])
    assert (
        MOST_READINGS / 2 < len(stored["watched"]["at"]) <= MOST_READINGS
        and stored["watched"]["at"][0] == 0.0
    )


def test_a_machine_that_does_not_tell_is_no_fault():
    with Monitor(dict) as monitor:
        pass
    assert monitor.facts == {"watched": {}, "throttle_reasons": 0}


def test_a_short_worker_is_watched_too():
    with Monitor(lambda: {"mhz": 2100.0}) as monitor:
        pass
    assert monitor.facts["watched"]["mhz"] == [2100.0]


def test_the_monitor_names_other_processes():
    with Monitor(reader_of("cpu")) as monitor:
        monitor.note_workers(0.0)
    assert monitor.facts["foreign_cores"] >= 0 and "watched" in monitor.facts


def test_a_compiler_that_the_worker_started_is_no_stranger():
    child = [sys.executable, "-c", "import time; sum(range(10**6)); print(time.process_time())"]
    before = cpu_seconds()
    spent = float(subprocess.run(child, capture_output=True, check=True).stdout)
    assert cpu_seconds() - before >= 0.9 * spent


def test_the_frequency_lies_beside_the_slots_of_the_same_process():
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
