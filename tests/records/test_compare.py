"""`snnbench compare`: every change for the worse is noticed, on the same machine and across machines, and nothing else is."""

import json

import pytest
from support.synthetic import blocks, unmeasured

from snnbench.mistakes import ConfigError
from snnbench.records.compare import compare
from snnbench.records.rows import rows_of
from snnbench.records.store import ResultFolder

STEPS = {"jax": 0.002, "torch": 0.004, "norse": 0.008}


def records(speed=1.0, machine="m1", without=(), **changed):
    """Three frameworks; `changed` is a factor on one's time."""
    made = []
    for name, step in STEPS.items():
        if name not in without:
            made += blocks(name, step=step * speed * changed.get(name, 1.0), neurons=97, machine=machine)
    return made


def compared(base, new, **options):
    comparison = compare(rows_of(base), rows_of(new), **options)
    return [(one.case.split()[0], one.what, one.verdict) for one in comparison.findings], comparison


def test_the_same_again_is_nothing():
    findings, comparison = compared(records(), records())
    assert (findings, comparison.cases, comparison.timed, comparison.times) == ([], 3, 3, "absolute")


def test_slower_and_faster_on_the_same_machine():
    findings, _ = compared(records(), records(torch=1.2, jax=0.7))
    assert findings == [("jax", "step", "better"), ("torch", "step", "worse")]
    assert compared(records(), records(torch=1.2), factor=1.5)[0] == []


def test_a_slower_machine_is_not_a_slower_framework():
    findings, comparison = compared(records(), records(speed=7.3, machine="m2"))
    assert (findings, comparison.timed, comparison.times) == ([], 3, "relative")


@pytest.mark.parametrize("machine", ["m1", "m2"])
def test_a_framework_that_falls_behind_the_others_is_found_on_any_machine(machine):
    findings, _ = compared(records(), records(speed=7.3, machine=machine, norse=9.0), relative=True)
    assert ("norse", "step, relative to the others", "worse") in findings
    assert not any(name != "norse" and verdict == "worse" for name, _, verdict in findings)


def test_a_time_that_is_gone_is_found():
    lost = [one.model_copy(update={"parts": {k: v for k, v in one.parts.items() if k != "step"}}) for one in records()]
    findings, _ = compared(records(), lost)
    assert findings == [(name, "step", "worse") for name in STEPS]


def test_a_later_run_that_was_only_to_weigh_takes_no_times_away():
    timed, measure = records(), {"timed": False, "phases": ["step"]}
    later = {"done_key": "other", "started_at": "2027-01-01T00:00:00+00:00", "parts": {}}
    weighed = [one.model_copy(update={**later, "measure": {**one.measure, **measure}}) for one in timed if not one.block]
    assert [row.records for row in rows_of([*weighed, *timed])] == [row.records for row in rows_of(timed)]
    remeasured = [one.model_copy(update=later) for one in timed]
    assert all(row.first.done_key == "other" for row in rows_of([*remeasured, *timed]))


def test_blocks_that_disagree_are_ambiguous_not_worse():
    wild = [one for one in records() if one.case["framework"] != "jax"]
    for one in blocks("jax", step=0.002, neurons=97):
        for slot in one.timing("step").slots:
            slot.wall = 0.0028 if one.block else 0.0018
        wild.append(one)
    assert ("jax", "step", "ambiguous") in compared(records(), wild)[0]


def test_a_status_a_proof_a_missing_case():
    base = [*records(), unmeasured("spyx", "timeout", neurons=97)]
    new = [
        *records(without=("jax", "torch")),
        unmeasured("torch", "oom_host", neurons=97),
        *blocks("spyx", step=0.002, neurons=97),
    ]
    assert set(compared(base, new)[0]) == {("jax", "case", "worse"), ("torch", "status", "worse"), ("spyx", "status", "better")}
    unproved = records()
    for one in unproved:
        if one.case["framework"] == "torch":
            one.proof = None
    assert compared(records(), unproved)[0] == [("torch", "proof", "worse")]


def test_memory_whatever_the_machine():
    heavier = records(machine="m2")
    for one in heavier:
        if one.case["framework"] == "torch" and one.memory:
            one.memory["step"] |= {"peak_bytes": 64 << 20}
            one.memory["forward"] |= {"peak_bytes": one.memory["forward"]["peak_bytes"] + 4096}
    assert compared(records(), heavier)[0] == [("torch", "memory of step", "worse")]


def test_sets_of_several_machines():
    both = records() + records(machine="m2")
    assert compared(both, both)[0] == []
    with pytest.raises(ConfigError, match="the second set is of several machines"):
        compared(records(), both)


@pytest.fixture
def folders(tmp_path):
    for name, set_ in (
        ("base", records()),
        ("same", records()),
        ("slow", records(norse=3.0)),
        ("other", blocks("jax", neurons=5)),
    ):
        for one in set_:
            ResultFolder(tmp_path / name).write_record(one)
    return tmp_path


@pytest.mark.parametrize("new, code", [("same", 0), ("slow", 5), ("other", 6), ("nothing", 2)])
def test_exit_codes(snnbench, folders, new, code):
    done = snnbench("compare", folders / "base", folders / new, "--json")
    assert done.exit_code == code, done.stderr
    assert "Traceback" not in done.stderr
    if code != 2:
        document = json.loads(done.stdout)
        assert document["cases"] == (0 if code == 6 else 3)
        assert any(one["verdict"] == "worse" for one in document["findings"]) == (code in (5, 6))
