"""Whatever ends a run, the same command goes on where it was: finished records stay as they are,
nothing is left behind."""

import json
import shutil
import signal

import psutil
import pytest
from support.paths import FAULTY
from support.slow import representatives
from support.waiting import until

from snnbench.common.files import PREFIX

ADAPTERS = ["held.py:Held"]
SIZES = 'neurons = [41, 97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'


def written(folder):
    """Every finished record's bytes and time of writing, by name."""
    return {
        p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in (folder / "records").glob("*.json")
    }


def leftovers(folder):
    return [p for p in folder.rglob("*") if p.name.startswith((PREFIX, ".snnbench-"))]


def workers_of(folder):
    """Living workers that were started for a run into `folder`."""
    workers = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if (
            "snnbench.worker" in words
            and str(folder) in words
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ):
            workers.append(process)
    return workers


MINE = """import sys
sys.path.append("{folder}")
from numpy_network import NumpyNetwork
class Mine(NumpyNetwork):
    name = "mine"
"""


@pytest.fixture
def held(snnbench):
    """`held(size)` lets the case of that size stand still; `held.free()` lets all go."""

    class Holds:
        def __call__(self, *sizes):
            for size in sizes:
                (snnbench.notes / f"hold-{size}").touch()

        def free(self):
            for path in snnbench.notes.glob("h*"):
                path.unlink()

        @property
        def reached(self):
            return (snnbench.notes / "held").exists()

    yield (holds := Holds())
    holds.free()


def started(snnbench, config, *arguments):
    return snnbench.start("run", "--config", config, "--out", snnbench.folder / "out", *arguments)


@pytest.mark.slow
def test_killed_again_and_again_a_run_loses_nothing(snnbench):
    config = snnbench.config(["held"], ADAPTERS, SIZES, "blocks = 2")
    folder, records = snnbench.folder / "out", {}
    arguments = ["run", "--config", config, "--out", folder]
    for count in (0, 1, 3):
        process = snnbench.start(*arguments)
        wanted = (
            (lambda: workers_of(folder))
            if not count
            else (lambda count=count: len(written(folder)) >= count)
        )
        until(wanted, process, f"record {count}")
        process.kill()
        process.communicate()
        assert psutil.wait_procs(workers_of(folder), timeout=10)[1] == [], (
            "a worker outlived its run"
        )
        now = written(folder)
        assert {name: now[name] for name in records} == records, (
            "a finished record was written again"
        )
        records = now
    ended = snnbench(*arguments)
    assert ended.exit_code == 0, ended.stderr
    now = written(folder)
    assert len(now) == 4
    assert {name: now[name] for name in records} == records
    assert {(r["case"]["neurons"], r["block"], r["status"]) for r in ended.records} == {
        (size, block, "ok") for size in (41, 97) for block in (0, 1)
    }
    assert not leftovers(folder)
    assert len(ended.rows) == 2


def test_killed_in_the_middle_of_a_case(snnbench, held):
    """The worker is known to be at work: it must die with its run, and its scratch must go with
    the next one."""
    config = snnbench.config(["held"], ADAPTERS)
    held(97)
    process = started(snnbench, config)
    until(lambda: held.reached, process, "the held case")
    (worker,) = workers_of(snnbench.folder / "out")
    process.kill()
    process.communicate()
    assert psutil.wait_procs([worker], timeout=10)[1] == []
    assert leftovers(snnbench.folder / "out")
    held.free()
    ended = snnbench.run(config)
    assert (ended.exit_code, len(ended.records)) == (0, 1)
    assert not leftovers(ended.folder)


@pytest.mark.parametrize("sent", representatives([signal.SIGINT, signal.SIGTERM], [0]))
def test_interrupted_a_run_reports_what_it_has(snnbench, held, sent):
    config = snnbench.config(["held"], ADAPTERS, SIZES)
    held(41, 97)
    process = started(snnbench, config)
    until(lambda: held.reached, process, "the held case")
    workers = workers_of(snnbench.folder / "out")
    process.send_signal(sent)
    ended = snnbench.end(process)
    assert ended.exit_code == 130
    assert ended.stderr.splitlines()[-1].startswith(
        "snnbench: interrupted; what is finished is kept"
    )
    assert "Traceback" not in ended.stderr
    assert "snnbench: 1 case not begun, and so in no table" in ended.stderr.splitlines()
    assert psutil.wait_procs(workers, timeout=10)[1] == []
    (record,) = ended.records
    assert (record["status"], record["reason"]) == ("interrupted", "the run was interrupted")
    assert [row["status"] for row in ended.rows] == ["interrupted"]
    assert (ended.folder / "report.html").exists()
    assert not leftovers(ended.folder)
    held.free()
    resumed = snnbench.run(config)
    assert resumed.exit_code == 0
    assert {r["case"]["neurons"]: (r["status"], r["attempt"]) for r in resumed.records} == {
        size: ("ok", 2 if size == record["case"]["neurons"] else 1) for size in (41, 97)
    }


def test_two_runs_into_one_folder_do_not_measure_each_other(snnbench, held):
    config = snnbench.config(["held"], ADAPTERS)
    held(97)
    process = started(snnbench, config)
    until(lambda: held.reached, process, "the held case")
    second = snnbench.run(config)
    assert second.exit_code == 2
    assert "another run is writing there" in second.message
    assert "--out" in second.message
    held.free()
    first = snnbench.end(process)
    assert (first.exit_code, len(first.records)) == (0, 1)


@pytest.fixture(scope="module")
def measured(snnbench_module):
    """One case in two blocks, done."""
    config = snnbench_module.config(["held"], ADAPTERS, measure="blocks = 2")
    ended = snnbench_module.run(config)
    assert ended.exit_code == 0, ended.stderr
    return config, ended.folder


@pytest.fixture
def finished(snnbench, measured):
    """A copy of it: the config and what was written."""
    config, folder = measured
    shutil.copytree(folder, snnbench.folder / "out")
    return config, written(folder)


def states(snnbench, config, *arguments):
    planned = json.loads(
        snnbench(
            "plan", "--config", config, "--out", snnbench.folder / "out", "--json", *arguments
        ).stdout
    )
    return [(case["state"], case["blocks_left"]) for case in planned["cases"]]


def test_what_is_done_is_kept(snnbench, finished):
    config, before = finished
    assert states(snnbench, config) == [("done", 0)]
    again = snnbench.run(config)
    assert written(again.folder) == before
    assert "kept, ok" in again.stderr


def test_more_blocks_measure_only_the_new_ones(snnbench, finished):
    config, before = finished
    more = ["--set", "measure.blocks=3"]
    assert states(snnbench, config, *more) == [("to do", 1)]
    again = snnbench.run(config, *more)
    now = written(again.folder)
    assert {name: now[name] for name in before} == before
    assert sorted(record["block"] for record in again.records) == [0, 1, 2]
    assert [row["blocks"] for row in again.rows] == ["3"]


@pytest.mark.slow
def test_interrupted_in_a_later_block_a_case_keeps_those_that_are_complete(
    snnbench, held, finished
):
    config, before = finished
    more = ["--set", "measure.blocks=3"]
    held(97)
    process = started(snnbench, config, *more)
    until(lambda: held.reached, process, "the held case")
    process.send_signal(signal.SIGINT)
    ended = snnbench.end(process)
    assert ended.exit_code == 130, ended.stderr
    assert [record["status"] for record in ended.records] == ["ok", "ok", "interrupted"]
    (row,) = ended.rows
    assert (row["status"], row["rank_low"], row["blocks"]) == (
        "ok",
        "1",
        "2",
    ) and "interrupted" in row["quality"].split()
    held.free()
    assert states(snnbench, config, *more) == [("to do", 1)]
    (row,) = snnbench.run(config, *more).rows
    assert (row["status"], row["blocks"]) == ("ok", "3") and "interrupted" not in row[
        "quality"
    ].split()
    now = written(snnbench.folder / "out")
    assert {name: now[name] for name in before} == before


@pytest.mark.slow
def test_another_way_of_measuring_measures_again(snnbench, finished):
    config, before = finished
    other = ["--set", "measure.slot=6ms", "--set", "measure.blocks=1"]
    assert states(snnbench, config, *other) == [("to do", 1)]
    again = snnbench.run(config, *other)
    now = written(again.folder)
    assert {name: now[name] for name in before} == before
    assert len(now) == 3
    assert len(again.rows) == 1, "the newest counts"


@pytest.mark.slow
def test_fresh_measures_again(snnbench, finished):
    config, before = finished
    now = written(snnbench.run(config, "--fresh").folder)
    assert now.keys() == before.keys()
    assert not set(now.values()) & set(before.values())


@pytest.mark.slow
def test_a_changed_adapter_file_is_measured_again(snnbench):
    """The file that the config names, or one beside it that it imports."""
    own = snnbench.folder / "mine.py"
    own.write_text(MINE.format(folder=FAULTY) + "    import helper\n")
    own.with_name("helper.py").write_text("")
    config = snnbench.config(["mine"], [own.with_name("mine.py:Mine")])
    before = written(snnbench.run(config).folder)
    own.with_name("helper.py").write_text("# faster now\n")
    assert states(snnbench, config) == [("to do", 1)]
    own.with_name("helper.py").write_text("")
    assert states(snnbench, config) == [("done", 0)]
    own.write_text(own.read_text() + "# faster now\n")
    assert states(snnbench, config) == [("to do", 1)]
    now = written(snnbench.run(config).folder)
    assert {name: now[name] for name in before} == before
    assert len(now) == 2


def test_a_damaged_record_is_not_done_and_is_named_in_the_report(snnbench, finished):
    """tests/records/test_store.py has every kind of damage."""
    config, before = finished
    name = damaged(snnbench, before, b"\xff\xfe")
    assert states(snnbench, config) == [("to do", 1)]
    assert snnbench("report", "out").exit_code == 3
    assert name in (snnbench.folder / "out" / "report.html").read_text()


def test_a_damaged_record_is_measured_again_and_nothing_else(snnbench, finished):
    config, before = finished
    name = damaged(snnbench, before, b"{")
    again = snnbench.run(config)
    assert again.exit_code == 0, again.stderr
    now = written(again.folder)
    assert {other for other in now if now[other] != before.get(other)} == {name}
    assert [record["status"] for record in again.records] == ["ok", "ok"]
    assert name in again.stderr, "the output names it"


def damaged(snnbench, before, damage):
    """Damage the record of the second block; its name."""
    name = max(before)
    (snnbench.folder / "out" / "records" / name).write_bytes(damage)
    return name


def test_a_failure_is_tried_again_and_counted_and_a_finding_is_not(snnbench):
    names = ["forward-raises", "raises-memory-error"]
    config = snnbench.config(names, ["raising.py:ForwardRaises", "raising.py:RaisesMemoryError"])
    first = snnbench.run(config)
    before = {record["case"]["framework"]: record for record in first.records}
    again = snnbench.run(config)
    assert [before[name]["attempt"] for name in names] == [1, 1]
    assert again.record("forward-raises")["attempt"] == 2
    assert again.record("raises-memory-error") == before["raises-memory-error"]
