"""Records of many cases, made small: tables say the same of them, and reading and grouping is linear in their number."""

import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from support.many_cases import write_many
from support.paths import ROOT

from snnbench.records import store
from snnbench.records.compare import compare_sets
from snnbench.records.record import Record
from snnbench.records.rows import Row, rows_of
from snnbench.records.store import ResultFolder
from snnbench.report.table import Table
from snnbench.report.tables.csv import csv_text

QUICKSTART = ROOT / "results" / "quickstart"


def rows(monkeypatch, most: int, folder: Path = QUICKSTART) -> list[Row]:
    """Of a folder, if so many records may be kept whole."""
    monkeypatch.setattr(store, "MOST_DETAILED", most)
    return rows_of(ResultFolder(folder).read_records()[0])


def test_small_records_say_the_same(monkeypatch):
    whole, small = rows(monkeypatch, 1000), rows(monkeypatch, 1)
    assert csv_text(Table(small)) == csv_text(Table(whole))
    told = [asdict(compare_sets(each, whole)) for each in (whole, small)]
    assert told[0] == told[1]


def test_of_every_so_manieth_case_all_is_kept(monkeypatch):
    small = [row for row in rows(monkeypatch, 10) if row.sound]
    kept = [row for row in small if row.column("step", "samples")]
    assert 0 < len(kept) < len(small)
    whole = {row.first.case_id: row for row in rows(monkeypatch, 1000)}
    for row in kept:
        for timing, wanted in zip(
            row.timings("step"), whole[row.first.case_id].timings("step"), strict=True
        ):
            assert list(timing.slots) == wanted.slots and timing.slots[1:] == wanted.slots[1:]


def calls(cases: int, folder: Path, monkeypatch) -> Counter:
    """How often what costs time is called for so many cases."""
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
"""Runs a command and prints its seconds of CPU and its most memory in KiB. A process of its own does it, because the most memory
of a process counts what its parent held when it was made."""

CANARY = """
import json
text = json.dumps([{"name": str(number), "values": [number / 7] * 4} for number in range(2000)])
print(sum(len(one["name"]) for _ in range(300) for one in json.loads(text)))
"""
"""Takes about half a second of CPU where the limits apply. A core of a busy processor is up to four times slower."""


def spent(*command: str, cwd: Path | None = None) -> tuple[float, float]:
    """Seconds of CPU, and KiB of memory at most."""
    told = subprocess.run(
        [sys.executable, "-c", SPENT, *command], cwd=cwd, capture_output=True, text=True
    ).stdout
    seconds, most = map(float, told.split())
    return seconds, most


@pytest.mark.slow
def test_two_thousand_cases_take_a_tenth_of_what_twenty_thousand_may(tmp_path):
    """Of 60 s of CPU and 1 GB: a tenth each, besides what a report of nothing takes."""
    write_many(tmp_path / "many", 2000)
    write_many(tmp_path / "others", 2000, seed=1)
    snnbench = str(Path(sys.executable).with_name("snnbench"))
    for line in (
        ["report", "many"],
        ["merge", "many", "--out", "all"],
        ["compare", "many", "others"],
    ):
        before, _ = spent(sys.executable, "-c", CANARY)
        seconds, most = spent(snnbench, *line, cwd=tmp_path)
        after, _ = spent(sys.executable, "-c", CANARY)
        print(
            f"{line[0]}: {seconds:.1f} s of CPU, at most {most / 1024:.0f} MB; canary {before:.2f} and {after:.2f} s"
        )
        assert seconds < (6 + 5) * (before + after) and most < (100 + 150) * 1024, line
    assert (tmp_path / "many" / "report.html").stat().st_size < 3e6
