"""A rank that dies or does not come: its case is a record in time, and no process is left."""

import os
import signal

import psutil
import pytest
from support.waiting import until

pytestmark = pytest.mark.slow

GRID = 'neurons = [23]\ntime_steps = [11]\nbatch = [3]\ndevice = ["cpu"]\nranks = [2]'


def config_of(snnbench, name, adapter, timeout="120s"):
    return snnbench.config(
        [name], [f"ranks.py:{adapter}"], GRID, f'timed = false\ntimeout = "{timeout}"'
    )


def ranks_of(snnbench):
    """Process ids that ranks left, once both have."""
    files = [snnbench.notes / f"rank{rank}" for rank in range(2)]
    texts = [file.read_text() for file in files if file.exists()]
    return [int(text) for text in texts] if len(texts) == 2 and all(texts) else None


def gone(processes):
    """Whether all of them have ended, at the latest within a moment."""
    return not psutil.wait_procs(processes, timeout=20)[1]


@pytest.mark.parametrize(
    ("name", "adapter", "timeout", "status", "words"),
    [
        ("one-dies", "OneDies", "120s", "crash", "rank 1 of 2 was killed by SIGKILL in call"),
        (
            "one-does-not-come",
            "OneDoesNotCome",
            "120s",
            "timeout",
            "rank 1 of 2 gave no answer to call within 30 s",
        ),
        ("one-raises", "OneRaises", "120s", "error", "rank 1: ValueError: of rank one alone"),
    ],
)
def test_a_rank_that_fails_is_named(snnbench, name, adapter, timeout, status, words):
    result = snnbench.run(config_of(snnbench, name, adapter, timeout))
    record = result.record(name)
    assert record["status"] == status and words in record["reason"], record["reason"]
    assert record["duration_s"] <= float(timeout.removesuffix("s")) + 5
    noted = [int(text) for file in snnbench.notes.glob("rank*") if (text := file.read_text())]
    assert noted and not any(map(psutil.pid_exists, noted))


def test_a_killed_agent_takes_its_ranks_along(snnbench):
    running = snnbench.start(
        "run", "--config", config_of(snnbench, "all-stand", "AllStand"), "--out", "out"
    )
    ranks = [
        psutil.Process(pid) for pid in until(lambda: ranks_of(snnbench), running, "both ranks")
    ]
    (agent,) = {rank.ppid() for rank in ranks}
    os.kill(agent, signal.SIGKILL)
    record = snnbench.end(running).record("all-stand")
    assert record["status"] == "crash" and "killed by SIGKILL" in record["reason"]
    assert gone(ranks)


def test_a_killed_harness_leaves_no_rank(snnbench):
    running = snnbench.start(
        "run", "--config", config_of(snnbench, "all-stand", "AllStand"), "--out", "out"
    )
    ranks = [
        psutil.Process(pid) for pid in until(lambda: ranks_of(snnbench), running, "both ranks")
    ]
    agent = psutil.Process(ranks[0].ppid())
    running.kill()
    snnbench.end(running)
    assert gone([agent, *ranks])
