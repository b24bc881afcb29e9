"""A misbehaving worker is ended, its fault is named, and it harms nothing else."""

import json
import os
import select
import signal
import subprocess
import sys

import psutil
import pytest
from support.scripted import END, Scripted

from snnbench.core.text_limits import TAIL_BYTES
from snnbench.executors.events import MOST_BYTES
from snnbench.executors.launch import Launched, NoAnswerInTime, Surroundings, launch
from snnbench.runner.outcome import verdict


def around(scratch, text, timeout=30.0, memory_bytes=1 << 34):
    return Surroundings(scratch, timeout, memory_bytes, executor=Scripted(text=text))


def ended(tmp_path, text, timeout=30.0, memory_bytes=1 << 34):
    outcome = launch("run", {}, around(tmp_path / "scratch", text, timeout, memory_bytes))
    assert list((tmp_path / "scratch").iterdir()) == []
    return outcome, verdict(outcome, "cpu")


LOSES_ITS_FOLDER = {
    "removed": "shutil.rmtree(folder)",
    "a link to a file of the user's": "events.unlink(); events.symlink_to('/etc/passwd')",
    "a pipe without a writer": "events.unlink(); os.mkfifo(events)",
    "a folder": "events.unlink(); events.mkdir()",
}


@pytest.mark.parametrize("how", LOSES_ITS_FOLDER)
def test_events_written_before_a_worker_loses_its_folder_count(tmp_path, how):
    outcome, folded = ended(tmp_path, f"{LOSES_ITS_FOLDER[how]}\nos._exit(3)")
    assert outcome.events == [{"part": "import", "status": "ok"}]
    assert (folded["status"], folded["reason"]) == (
        "crash",
        "exited with status 3 in part 'import' before it was through",
    )


TOO_MUCH = {
    "an answer without an end": (
        "out = open(answers, 'wb')\nwhile True: out.write(b'x' * 65536)",
        "an answer of more than 1 MiB",
    ),
    "events without an end": (
        f"os.truncate(events, {MOST_BYTES[0] + 1})",
        "reported more than 4 MiB",
    ),
    "more events than the disk holds": ("os.truncate(events, 1 << 40)", "reported more than 4 MiB"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_worker_that_reports_too_much_ends_with_an_error(tmp_path, what):
    text, words = TOO_MUCH[what]
    _, folded = ended(tmp_path, f"{text}\n{END}")
    assert folded["status"] == "error" and words in folded["reason"]


def test_only_the_end_of_a_long_output_is_kept(tmp_path):
    outcome, folded = ended(
        tmp_path, "for _ in range(300): os.write(1, b'x' * 65536)\nos.write(2, b'the end')\n" + END
    )
    assert folded["status"] == "ok"
    assert len(outcome.output_tail) == TAIL_BYTES and outcome.output_tail.endswith("xthe end")


def test_a_cut_word_is_dropped(tmp_path):
    """A part of a user's name would not be replaced."""
    printed = f"os.write(1, b'/home/alice/' + b' ' * {TAIL_BYTES - 4} + b'!')"
    assert ended(tmp_path, f"{printed}\n{END}")[0].output_tail.strip("… ") == "!"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports shared memory")
def test_shared_memory_counts(tmp_path):
    fill = "for at in range(0, len(memory), 4096): memory[at] = 1"
    text = f"memory = mmap.mmap(-1, 64 << 20)\n{fill}\nsignal.pause()"
    outcome, folded = ended(tmp_path, text, memory_bytes=48 << 20)
    assert (outcome.exceeded_memory, outcome.timed_out, folded["status"]) == (
        True,
        False,
        "oom_host",
    )
    assert (
        folded["reason"]
        == "used more memory than host_memory, with what it shared, in part 'import'"
    )


def test_an_order_that_is_not_read_ends_with_the_timeout(tmp_path):
    worker = Launched("run", {}, around(tmp_path / "scratch", "signal.pause()", 0.2))
    assert worker.order({"order": "x" * (1 << 20)}) is None and worker.timed_out
    assert verdict(worker.end(), "cpu")["status"] == "timeout"


def test_a_worker_that_fills_its_orders_and_reads_its_answers_harms_only_itself(tmp_path):
    text = """
out = os.open(orders, os.O_RDWR | os.O_NONBLOCK)
try:
    while True: os.write(out, b"x" * 65536)
except BlockingIOError: pass
answer("{}")
signal.pause()
"""
    worker = Launched("run", {}, around(tmp_path / "scratch", text, 3.0))
    assert worker.answer() == {}
    worker.seconds_left = 0.1
    assert worker.order({"end": True}) is None
    assert worker.end().timed_out


def test_each_worker_has_a_new_folder(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "run-").write_text("in the way")
    workers = [Launched("run", {}, around(tmp_path / "scratch", END, 9.0)) for _ in range(2)]
    assert workers[0].folder != workers[1].folder
    assert [worker.end().exit_code for worker in workers if worker.answer() is None] == [0, 0]


def test_a_full_disk_of_the_harness_is_no_outcome_of_a_case(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught:
        ended(tmp_path, """answer('{"no_room": true}')\nsignal.pause()""")
    assert caught.value.filename == str(tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_late_answer_and_a_death_raise_different_errors(tmp_path):
    slow, _ = ended(tmp_path, "signal.pause()", timeout=0.2)
    with pytest.raises(NoAnswerInTime, match="no answer within 0 s"):
        slow.answer("describe")
    with pytest.raises(RuntimeError) as caught:
        ended(tmp_path, "os._exit(3)")[0].answer("describe")
    assert not isinstance(caught.value, NoAnswerInTime)


STOPPED = "no end after 0 s, stopped in part 'import'"


def out_of_time(tmp_path, text):
    """A worker past its timeout that runs `text` when it reads an order."""
    worker = Launched(
        "run", {}, around(tmp_path / "scratch", f"open(orders).readline()\n{text}", 0.0)
    )
    assert worker.answer() is None and worker.timed_out
    return worker


def test_what_the_harness_measures_at_the_end_is_no_time_of_the_framework(tmp_path):
    text = f"answer('{{}}'); open(orders).readline(); {END}"
    worker = Launched("run", {}, around(tmp_path / "scratch", text))
    assert worker.answer() == {}
    worker.seconds_left = 0.0
    worker.farewell()
    outcome = worker.end()
    assert outcome.complete and not outcome.timed_out


def test_a_timeout_names_the_time_of_the_framework_and_the_record_all(tmp_path):
    worker = out_of_time(tmp_path, END)
    worker.note_judging(60.0)
    outcome = worker.end()
    reason = verdict(outcome, "cpu")["reason"]
    assert 60.0 < outcome.duration_s < 90.0 and reason.startswith("no end after 0 s, ")


def test_a_farewell_gives_no_time_back(tmp_path):
    worker = out_of_time(tmp_path, END)
    worker.farewell()
    assert worker.end().timed_out


def test_a_late_answer_is_none(tmp_path):
    """A worker may still answer while the harness reports its timeout to the judge."""
    worker = out_of_time(tmp_path, "answer('{}'); signal.pause()")
    os.write(worker.orders, b"\n")
    assert select.select([worker.answers], [], [], 30.0)[0], "it has answered"
    assert worker.order({"end": True}) is None and worker.answer() is None
    outcome = worker.end()
    assert (outcome.timed_out, outcome.signal) == (True, signal.SIGKILL)
    assert (verdict(outcome, "cpu")["status"], verdict(outcome, "cpu")["reason"]) == (
        "timeout",
        STOPPED,
    )


@pytest.mark.parametrize("how", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_death_after_the_timeout_is_a_timeout(tmp_path, how):
    worker = out_of_time(tmp_path, how)
    os.write(worker.orders, b"\n")
    assert select.select([worker.running], [], [], 30.0)[0], "it has ended"
    folded = verdict(worker.end(), "cpu")
    assert (folded["status"], folded["reason"]) == ("timeout", STOPPED)


def test_an_end_after_the_timeout_is_ok(tmp_path):
    worker = out_of_time(tmp_path, END)
    os.write(worker.orders, b"\n")
    assert select.select([worker.running], [], [], 30.0)[0], "it has ended"
    assert verdict(worker.end(), "cpu")["status"] == "ok"


DAEMON = """
sys.path[:0] = json.loads(os.environ["PATHS"])
from snnbench.worker.sandbox import die_with_parent
die_with_parent(job["parent"])
if not os.fork():
    os.setsid()
    if not os.fork():
        os.environ.clear()
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps orphans below a subreaper")
@pytest.mark.parametrize("left", ["os._exit(0)", "answer('{}'); signal.pause()"])
def test_a_daemon_ends_with_its_worker_while_others_run(tmp_path, monkeypatch, left):
    monkeypatch.setenv("PATHS", json.dumps(sys.path))
    here = psutil.Process()
    before = set(here.children(recursive=True))
    other = Launched("run", {}, around(tmp_path, "answer('{}'); signal.pause()"))
    assert other.answer() == {}
    beside = set(here.children(recursive=True)) - before
    worker = Launched("run", {}, around(tmp_path, DAEMON + left))
    worker.answer()
    worker.end()
    assert set(here.children(recursive=True)) - before == beside
    other.end()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps orphans below a subreaper")
def test_the_end_of_a_worker_kills_no_daemon_of_another(tmp_path, monkeypatch):
    monkeypatch.setenv("PATHS", json.dumps(sys.path))
    owner = Launched(
        "run", {}, around(tmp_path, DAEMON + "os.wait(); answer('{}'); signal.pause()")
    )
    assert owner.answer() == {}
    other = Launched("run", {}, around(tmp_path, END))
    other.answer()
    other.end()
    assert psutil.Process(owner.running.process.pid).children()
    owner.end()


def test_a_process_that_another_thread_starts_is_not_killed(tmp_path):
    """As in a notebook, which starts programs in its own session."""
    worker = Launched("", {}, around(tmp_path, END))
    ours = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        worker.end()
        assert ours.poll() is None
    finally:
        ours.communicate(b"\n")
    assert ours.returncode == 0, "it was killed"
