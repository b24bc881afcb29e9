"""Sets of many cases: reading, grouping and comparing is linear in their number."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.many_cases import write_many

from snnbench.records import store
from snnbench.records.compare import compare_sets
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.records.store import ResultFolder
from snnbench.report.table import Table, csv_text


def calls(cases: int, folder: Path, monkeypatch) -> Counter:
    """Returns the number of calls of costly functions for a set of `cases`."""
    write_many(folder, cases)
    counted: Counter = Counter()

    def counting(holder, name):
        real = getattr(holder, name)

        def wrapped(*arguments, **named):
            counted[name] += 1
            return real(*arguments, **named)

        monkeypatch.setattr(holder, name, wrapped)

    for holder, name in ((Record, "timing"), (store, "_content")):
        counting(holder, name)
    table = Table(rows_of(ResultFolder(folder).read_records()[0]))
    csv_text(table)
    compare_sets(table.rows, table.rows)
    monkeypatch.undo()
    return counted


def test_reading_grouping_and_comparing_is_linear(tmp_path, monkeypatch):
    few, many = (calls(cases, tmp_path / str(cases), monkeypatch) for cases in (48, 192))
    assert {name: many[name] / count for name, count in few.items()} == pytest.approx(
        dict.fromkeys(few, 4.0), rel=0.1
    )


SPENT = """
import os, sys
silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent), 0)[2]
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""Runs a command and prints its CPU seconds and its peak memory in KiB. It is a separate
process, because the peak of a process includes what its parent held at the fork."""

CANARY = """
import json
text = json.dumps([{"name": str(number), "values": [number / 7] * 4} for number in range(2000)])
print(sum(len(each["name"]) for _ in range(300) for each in json.loads(text)))
"""
"""Takes about half a second of CPU on a quiet core. A core of a busy processor is up to four
times slower."""


def spent(*command: str, cwd: Path | None = None) -> tuple[float, float]:
    """Returns CPU seconds and the peak memory in MB."""
    answer = subprocess.run(
        [sys.executable, "-c", SPENT, *command], cwd=cwd, capture_output=True, text=True
    ).stdout
    seconds, kibibytes = map(float, answer.split())
    return seconds, kibibytes / 1024


@pytest.mark.slow
def test_six_thousand_records_take_eleven_seconds_and_750_megabytes(tmp_path):
    write_many(tmp_path / "many", 2000)
    write_many(tmp_path / "others", 2000, seed=1)
    snnbench = str(Path(sys.executable).with_name("snnbench"))
    for arguments in (
        ["report", "many"],
        ["merge", "many", "--out", "all"],
        ["compare", "many", "others"],
    ):
        before, _ = spent(sys.executable, "-c", CANARY)
        seconds, megabytes = spent(snnbench, *arguments, cwd=tmp_path)
        after, _ = spent(sys.executable, "-c", CANARY)
        print(f"{arguments[0]}: {seconds:.1f} s, {megabytes:.0f} MB; {before:.2f}, {after:.2f} s")
        assert seconds < 11 * (before + after) and megabytes < 750, arguments
    assert (tmp_path / "many" / "report.html").stat().st_size < 8000 * 2000, "8 kB a case"
