"""Cores and memory of a job, limited by SLURM or a cgroup, less the part of snnbench itself."""

import os
import subprocess
import sys

import psutil
import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.machine import memory
from snnbench.machine.cores import usable_cores
from snnbench.machine.memory import Room, job_limit, memory_for_one_more, memory_for_workers

VARIABLES = (
    *("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"),
    *("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU"),
)
MIB, GIB = 1 << 20, 1 << 30


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(memory, "_of_cgroups", lambda root: [])


def groups(root, lines, limits):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("\n".join(lines) + "\n")
    for name, text in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(
    "lines, limits, limit",
    [
        (["0::/"], {"memory.max": "97000000"}, 97000000),
        (["0::/"], {"memory.max": "max"}, None),
        (
            ["0::/job_7/step"],
            {"job_7/memory.max": "41000000", "job_7/step/memory.max": "max"},
            41000000,
        ),
        (
            ["0::/job_7/step"],
            {"job_7/memory.max": "41000000", "job_7/step/memory.max": "37000000"},
            37000000,
        ),
        (
            ["9:name=systemd:/", "4:memory:/job_7"],
            {"memory/job_7/memory.limit_in_bytes": "53000000"},
            53000000,
        ),
        (
            ["4:cpu,memory:/job_7"],
            {"memory/job_7/memory.limit_in_bytes": str(0x7FFFFFFFFFFFF000)},
            None,
        ),
        (["0::/job_7"], {}, None),
    ],
)
def test_the_limit_of_a_cgroup_and_of_its_ancestors(tmp_path, monkeypatch, lines, limits, limit):
    monkeypatch.undo()
    assert job_limit(groups(tmp_path, lines, limits)) == limit


@pytest.mark.parametrize(
    "variables, limit",
    [
        ({}, None),
        ({"SLURM_MEM_PER_NODE": "700"}, 700 * MIB),
        ({"SLURM_MEM_PER_NODE": "0"}, None),
        ({"SLURM_MEM_PER_NODE": "much"}, None),
        ({"SLURM_MEM_PER_CPU": "300", "SLURM_CPUS_ON_NODE": "3"}, 900 * MIB),
    ],
)
def test_the_limit_of_slurm(monkeypatch, variables, limit):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert job_limit() == limit


def test_the_smallest_limit_counts(monkeypatch):
    monkeypatch.setattr(memory, "_of_cgroups", lambda root: [700 * MIB, 600 * MIB])
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "650")
    assert job_limit() == 600 * MIB


def test_the_harness_has_a_reserve_in_the_job(monkeypatch):
    assert memory_for_workers(16 * GIB, 10 * GIB) == 9 * GIB
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1536")
    assert memory_for_workers(16 * GIB, 10 * GIB) == int(0.9 * GIB)
    assert memory_for_workers(97 * MIB, 10 * GIB) == 97 * MIB


def test_a_job_that_is_too_small_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "420")
    with pytest.raises(
        ConfigError,
        match=r"this job may use 420 MiB of memory, .* 512 MiB: give it 1 GiB or more \(--mem\)",
    ):
        memory_for_workers(16 * GIB, 10 * GIB)


def test_running_workers_reduce_the_memory_of_the_next(monkeypatch):
    assert memory_for_one_more(7 * GIB) == 7 * GIB, "without a job there is nothing to share"
    # A browser of other tests may be a child of this process.
    others = sum(child.memory_info().rss for child in psutil.Process().children(recursive=True))
    monkeypatch.setenv("SLURM_MEM_PER_NODE", f"{1536 + others // MIB}")
    room = Room("cpu")
    alone = memory_for_one_more(7 * GIB)
    hold = "import sys; held = bytearray(97 << 20); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert alone - memory_for_one_more(7 * GIB) >= 97 * MIB
        room.note()
        assert room.largest >= 97 * MIB and room.for_one_more
        monkeypatch.setenv("SLURM_MEM_PER_NODE", "600")
        assert memory_for_one_more(7 * GIB) == 64 * MIB, "never so little that Python cannot start"


def bound_to(**variables):
    program = "import os; from snnbench.machine.cores import use_cores; "
    program += "print(*use_cores(0), '|', *os.sched_getaffinity(0))"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return [sorted(map(int, part.split())) for part in ended.stdout.split("|")]


def test_the_job_limits_the_cores_if_the_node_does_not(monkeypatch):
    cores = usable_cores()
    assert bound_to() == [cores, cores]
    assert bound_to(SLURM_CPUS_ON_NODE="1") == [cores[:1], cores[:1]]
    assert bound_to(SLURM_CPUS_ON_NODE="97") == [cores, cores]
    assert bound_to(SLURM_CPUS_PER_TASK="1", SLURM_CPUS_ON_NODE="2") == [cores[:1], cores[:1]]
    assert bound_to(SLURM_CPUS_PER_TASK="none") == [cores, cores]
