"""Adapters that take more cores than they were given are refused, and none that keeps to them. Those
that take memory after it was weighed have a warning."""

import os

import pytest

GREEDY = ("bound-to-all", "thread-on-all", "child-on-all")
RIGHT, LATE = "computes-in-threads", "hoarding-timed"
ADAPTERS = [
    "greedy.py:BoundToAll",
    "greedy.py:ThreadOnAll",
    "greedy.py:ChildOnAll",
    "greedy.py:ComputesInThreads",
    "hoarding.py:HoardingTimed",
]


@pytest.fixture(scope="module")
def run(snnbench_module):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core: there is no other to take")
    return snnbench_module.run(snnbench_module.config([*GREEDY, RIGHT, LATE], ADAPTERS))


@pytest.mark.slow
@pytest.mark.parametrize("name", GREEDY)
def test_cores_that_were_not_given_are_seen(run, name):
    record = run.record(name)
    assert record["status"] == "implausible" and record["parts"]["step"]["timing"] is None
    assert "may run on core" in record["reason"] and "was given others" in record["reason"]


@pytest.mark.slow
def test_threads_on_the_given_cores_are_no_fault(run):
    assert run.record(RIGHT)["status"] == "ok", run.record(RIGHT)["reason"]


@pytest.mark.slow
def test_memory_that_is_taken_in_a_timed_call_is_a_warning(run):
    (warning,) = run.record(LATE)["warnings"]
    assert run.record(LATE)["status"] == "ok" and "W-MEMORY: keeps" in warning
    assert float(warning.split()[2]) == pytest.approx(64, rel=0.05), warning
    assert not run.record(RIGHT)["warnings"]
