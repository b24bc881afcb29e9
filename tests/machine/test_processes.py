"""Threads and descendants of a process: their cores and CPU time."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from snnbench.machine.cores import usable_cores
from snnbench.machine.processes import (
    children_seconds,
    cores_in_use,
    cpu_seconds,
    descendants,
    threads,
)

BUSY = "import time; end = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n"


def bind(cores: set[int], but: int | None = None) -> None:
    """Binds this process and its descendants, which earlier tests may have left, to `cores`."""
    for pid in {os.getpid(), *descendants()} - {but}:
        for thread in threads(pid):
            with suppress(OSError):
                os.sched_setaffinity(int(thread.name), cores)


@pytest.fixture
def child():
    """A child that has computed for 0.1 s and waits, with a child of its own."""
    program = f"{BUSY}import subprocess, sys\nsubprocess.Popen(['cat'])\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        yield process


def test_cpu_time_of_a_living_child_counts_and_that_of_an_ended_one(child):
    before = children_seconds()
    assert before >= 0.09 and len({*descendants()}) >= 2
    child.communicate()
    assert children_seconds() == pytest.approx(before, abs=0.05)
    assert cpu_seconds() == pytest.approx(time.process_time() + children_seconds(), abs=0.05)


def test_cores_of_threads_and_of_children_are_seen(child):
    cores = set(usable_cores())
    assert cores_in_use() == cores
    if len(cores) < 2:
        return
    first = {min(cores)}
    try:
        bind(first, but=child.pid)
        assert cores_in_use() == cores, "those of the child"
        child.communicate()
        assert cores_in_use() == first
        over = threading.Event()
        thread = threading.Thread(target=over.wait)
        thread.start()
        os.sched_setaffinity(thread.native_id, cores)
        assert cores_in_use() == cores
        over.set()
        thread.join()
    finally:
        bind(cores)


def test_cores_of_a_process_that_has_ended_do_not_count():
    """It is not waited for here, as an orphan that a library leaves."""
    cores = set(usable_cores())
    if len(cores) < 2:
        return
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    try:
        bind({min(cores)}, but=ended.pid)
        assert os.sched_getaffinity(ended.pid) == cores and ended.pid in {*descendants()}
        assert cores_in_use() == {min(cores)}
    finally:
        bind(cores)
        ended.wait()
