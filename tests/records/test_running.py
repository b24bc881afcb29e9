"""A case is blamed for a job's death only if no other can be the cause."""

import json

import pytest
from support.synthetic import record

from snnbench.records.running import DIED_TWICE, JOBS, Running, is_final
from snnbench.records.store import ResultFolder

A, B, C = "a" * 16, "b" * 16, "c" * 16


@pytest.fixture
def die(tmp_path, monkeypatch):
    """Simulates a job that notes the running cases and is killed; returns the next job."""
    for name in JOBS:
        monkeypatch.delenv(name, raising=False)
    folder = ResultFolder(tmp_path)

    def job(*computing, block=0, variable="SLURM_JOB_ID", number="97", **more):
        monkeypatch.setenv(variable, number)
        Running(folder, **more).mark(computing, block)
        return Running(folder)

    return job


def test_a_case_in_which_two_jobs_died_is_to_blame(die):
    assert not die(A).died_twice(A, 0)
    third = die(A)
    assert third.died_twice(A, 0) and not third.died_twice(B, 0) and not third.died_twice(A, 1)


def test_two_cases_that_saw_one_death_each_are_not(die):
    die(A)
    third = die(B)
    assert not third.died_twice(A, 0) and not third.died_twice(B, 0)


def test_of_several_cases_that_ran_together_none_is_blamed_before_each_ran_alone(die):
    assert die(A, B).apart([A, B, C], 0) == set()
    third = die(A, B)
    assert third.apart([A, B, C], 0) == {A, B} and not third.died_twice(A, 0)
    fourth = die(B)
    assert fourth.died_twice(B, 0) and not fourth.died_twice(A, 0)


def test_a_case_that_ended_is_not_to_blame(die, tmp_path):
    first = die()
    first.mark([A], 0)
    first.mark([], 0)
    second = die(A)
    assert not second.died_twice(A, 0)
    second.end()
    assert not (tmp_path / "running.json").exists() and not die(A).died_twice(A, 0)


def test_afresh_means_afresh(die):
    die(A)
    assert not die(A, fresh=True).died_twice(A, 0)


@pytest.mark.parametrize("variable", JOBS)
def test_of_every_batch_system(die, variable):
    die(A, variable=variable, number="97.server")
    assert die(A, variable=variable).died_twice(A, 0)


def test_an_interactive_kill_is_not_counted_against_any_case(tmp_path, monkeypatch):
    for name in JOBS:
        monkeypatch.delenv(name, raising=False)
    folder = ResultFolder(tmp_path)
    for _ in range(3):
        Running(folder).mark([A], 0)
    assert not folder.running.exists() and not Running(folder).died_twice(A, 0)


TWICE = {"job": "97", "now": [f"{A}-0"], "died": {f"{A}-0": {"alone": 1}}}
DAMAGED = [
    {**TWICE, "job": 97},
    {**TWICE, "died": {f"{A}-0": 1}},
    {**TWICE, "now": [f"{A}-0", 7]},
    {**TWICE, "more": 1},
    [TWICE],
]


@pytest.mark.parametrize("text", ["", "{", json.dumps(TWICE)[:-1], *map(json.dumps, DAMAGED)])
def test_a_damaged_file_blames_no_case(die, tmp_path, text):
    (tmp_path / "running.json").write_text(json.dumps(TWICE))
    assert Running(ResultFolder(tmp_path)).died_twice(A, 0), "undamaged it does"
    (tmp_path / "running.json").write_text(text)
    assert not Running(ResultFolder(tmp_path)).died_twice(A, 0)


def test_such_a_crash_is_final_and_no_other_is():
    crash = record("torch").model_copy(
        update={"status": "crash", "reason": "killed by SIGKILL in part 'proof'"}
    )
    assert not is_final(crash) and not is_final(record("torch").model_copy(update={"status": "ok"}))
    assert is_final(crash.model_copy(update={"reason": DIED_TWICE}))
