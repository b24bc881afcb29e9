"""Whatever an adapter does to the process that it runs in: others judge it, by their own clock,
and keep what was found."""

import json
import tomllib

import pytest
from support.paths import WRONG
from support.slow import marked_slow

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
ENDS = {adapter.partition(":")[2]: ends.split(": ", 1) for adapter, ends in TABLE["malice"].items()}
"""By adapter its status and words of the reason."""


def framework(adapter: str) -> str:
    return "wrong" + "".join(
        f"-{letter.lower()}" if letter.isupper() else letter for letter in adapter
    )


QUICK = {"PatchesTheJudge"}
RARE = ENDS.keys() - QUICK


def run_of(snnbench, names):
    references = [f"{WRONG / 'malicious.py'}:{name}" for name in names]
    config = snnbench.config([framework(name) for name in names], references)
    return snnbench.run(config, out=names[0])


@pytest.fixture(scope="module")
def quick(snnbench_module):
    return run_of(snnbench_module, sorted(QUICK))


@pytest.fixture(scope="module")
def rare(snnbench_module):
    return run_of(snnbench_module, sorted(RARE))


@pytest.fixture(params=["quick", marked_slow("rare")])
def malice(request):
    """One run of several adapters, shared by the tests of this file."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("malice", "adapter"),
    [("quick", name) for name in sorted(QUICK)]
    + [marked_slow("rare", name) for name in sorted(RARE)],
    indirect=["malice"],
)
def test_it_is_rejected_in_the_words_of_its_true_fault(malice, adapter):
    status, words = ENDS[adapter]
    record = malice.record(framework(adapter))
    assert record["status"] == status, record["reason"]
    assert words in record["reason"]


def test_nothing_of_it_is_ranked_and_the_run_goes_on(malice):
    assert {row["rank_low"] for row in malice.rows} == {""}
    assert "Traceback" not in malice.stderr


def test_a_proof_is_what_the_judge_says_of_it(quick):
    assert quick.record("wrong-patches-the-judge")["parts"]["proof"]["seconds"] > 0


@pytest.mark.slow
def test_a_forged_proof_is_not_believed(rare):
    proof = rare.record("wrong-forges-events")["proof"]
    assert not proof["passed"] and proof["stages"]
    assert rare.record("wrong-dies-in-the-proof")["proof"] is None
    assert rare.record("wrong-forges-its-end")["proof"] is None


@pytest.mark.slow
def test_a_finished_record_stays_as_it_was(snnbench):
    first = snnbench.run(snnbench.config(["torch"]))
    before = {path.name: path.read_bytes() for path in (first.folder / "records").iterdir()}
    config = snnbench.config(
        ["torch", "wrong-rewrites-records"], [f"{WRONG / one}" for one in TABLE["rewrites_records"]]
    )
    second = snnbench.run(config, "--only", "framework=wrong-rewrites-records")
    (name,) = before
    assert (second.folder / "records" / name).read_bytes() == before[name]
    assert f"{name} was changed by another process during the run" in second.stderr
    assert json.loads(before[name])["reason"] is None
