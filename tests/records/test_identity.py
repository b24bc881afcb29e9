"""The differences between two measurements, in words, and what makes them the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.synthetic import record

from snnbench.experiment.measure import Measure
from snnbench.records.identity import differences, done_key
from snnbench.schema import Settings

MEASURE = Measure().model_dump()
ADAPTER = {
    "name": "snntorch",
    "version": "0.9.4",
    "source_sha256": "a",
    "closure": {"snntorch": "0.9.4", "torch": "2.13.0"},
}
ENVIRONMENT = {"name": "default", "hash": "e", "python": "CPython 3.11.7"}
MACHINE = {"hash": "m1"}
RECORD = record("snntorch").model_copy(
    update={"adapter": ADAPTER, "environment": ENVIRONMENT, "measure": MEASURE, "machine": MACHINE}
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, []),
        ({"measure": {"slot": 0.04}}, ["slot 80 ms → 40 ms"]),
        ({"measure": {"phases": ["step"]}}, ["phases forward, backward, step, inference → step"]),
        ({"measure": {"timeout": 120.0, "threads": 1}}, ["timeout 600 s → 120 s", "threads 0 → 1"]),
        ({"measure": {"blocks": 9, "most_blocks": 12}}, []),
        (
            {"adapter": {"version": "1.0.0", "closure": {"snntorch": "1.0.0", "torch": "2.13.0"}}},
            ["snntorch 0.9.4 → 1.0.0"],
        ),
        (
            {"adapter": {"closure": {"snntorch": "0.9.4", "torch": "2.14.0"}}},
            ["torch 2.13.0 → 2.14.0"],
        ),
        ({"adapter": {"source_sha256": "b"}}, ["its file, or what that imports, has changed"]),
        ({"environment": {"hash": "f"}}, []),
        ({"environment": {"name": "other"}}, []),
        ({"machine": {"hash": "m2"}}, ["another machine"]),
        ({"machine": {"kernel": "7.0"}}, []),
    ],
)
def test_each_difference_has_its_words_and_makes_another_key(change, words):
    now = [{**was, **change.get(name, {})} for name, was in FACTS.items()]
    assert list(differences(RECORD, *now)) == words
    assert (done_key(*now) != done_key(*FACTS.values())) == bool(words)


FACTS = {"measure": MEASURE, "adapter": ADAPTER, "environment": ENVIRONMENT, "machine": MACHINE}


def test_of_many_packages_a_few_are_named():
    adapter = {
        **ADAPTER,
        "closure": {**ADAPTER["closure"], **{f"package{number}": "1" for number in range(9)}},
    }
    (words,) = differences(RECORD, MEASURE, adapter, ENVIRONMENT, MACHINE)
    assert words == "package0 none → 1, package1 none → 1, package2 none → 1 and 6 more packages"


@given(st.dictionaries(st.sampled_from(["torch", "numpy", "jax"]), st.sampled_from(["1.0", "2.0"])))
def test_what_has_no_difference_has_the_same_key(closure):
    now = [MEASURE, {**ADAPTER, "closure": closure}, ENVIRONMENT, MACHINE]
    if closure:
        assert (done_key(*now) == done_key(*FACTS.values())) == (
            not list(differences(RECORD, *now))
        )


def test_settings_of_a_record_are_those_of_a_config():
    assert {*Settings.__annotations__} == {*Measure.model_fields}
