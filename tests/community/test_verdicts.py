"""Forged bundles: every kind of fault is planted, found and named; real runs have none."""

from datetime import UTC, datetime

import pytest
from support.forgeries import FORGERIES
from support.forgery import Forged, claim_anew, faster, names_of, written
from support.paths import SETS, committed
from support.slow import without

from snnbench import __version__
from snnbench.cli.verify import shortened
from snnbench.community.bundle import bundle_of, text_of
from snnbench.community.verify.fault import KINDS, folded
from snnbench.community.verify.form import NoBundle
from snnbench.community.verify.verify import verify
from snnbench.records.bundle import BundleFile

NOW = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def quickstart() -> str:
    return text_of(bundle_of(BundleFile(committed("quickstart")), "neuro")[0])


@pytest.fixture
def forged(quickstart) -> Forged:
    return Forged(quickstart)


def test_a_forgery_of_nothing_is_the_bundle(quickstart, forged, tmp_path):
    assert forged.text() == quickstart
    (verdict,) = verify([written(tmp_path, quickstart)], NOW)
    assert verdict.faults == []


@pytest.mark.parametrize("name", without({"too_many_records"}, FORGERIES))
def test_a_forgery_is_named(forged, tmp_path, name):
    kind, words, change = FORGERIES[name]
    text = change(forged) or forged.text()
    (verdict,) = verify([written(tmp_path, text)], NOW)
    named = [str(fault) for fault in verdict.faults if fault.kind == kind]
    assert any(words in sentence for sentence in named), [str(fault) for fault in verdict.faults][
        :10
    ]
    assert all("\n" not in sentence for sentence in named)


@pytest.mark.parametrize(("allowed", "right"), [({"weight": 4e-5}, True), ({"bias": 4e-5}, False)])
def test_a_record_says_where_rounding_widened_a_limit(forged, tmp_path, allowed, right):
    stage = forged.timed("snntorch")["proof"]["stages"][0]
    stage["errors"]["weight"] = stage["grad_error"] = 3e-5
    stage["allowed"] = allowed
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert (verdict.faults == []) is right


def test_a_proof_of_few_recordings_is_named(tmp_path):
    forged = Forged(text_of(bundle_of(BundleFile(committed("data")))[0]))
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert verdict.faults == []
    forged.timed("tonic")["proof"]["stages"][0]["name"] = "frames of 128 recordings"
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    words = "stages frames of 128 recordings, not frames of 1024 recordings"
    assert any(words in str(fault) for fault in verdict.faults)


def test_every_kind_is_planted():
    assert {kind for kind, _, _ in FORGERIES.values()} == KINDS.keys()


def test_recomputed_claims_of_forged_records_are_caught(forged, tmp_path):
    """Ranks and times agree with the records then; the calls contradict the clock."""
    for block in range(3):
        faster(forged.timed("snntorch", block), 10)
    claim_anew(forged)
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert {fault.kind for fault in verdict.faults} == {"elapsed", "overlap"}


def test_a_shard_has_the_plan_of_the_whole_run(forged, tmp_path):
    """A shard has a comparison as a whole: comparisons that it lacks are a remark and no fault."""
    forged.planned = names_of(forged)
    soft = forged.timed("rockpool")["case"]["neuron"]
    forged.records = [record for record in forged.records if record["case"]["neuron"] == soft]
    claim_anew(forged)
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert verdict.faults == []
    assert verdict.remarks[0].startswith("12 planned cases are not in it, such as ")
    forged.planned = {
        **names_of(forged),
        forged.records[0]["case_id"][::-1]: "torch of another size",
    }
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert (
        verdict.remarks[0]
        == "1 planned case is not in it, torch of another size: it is a part of the run"
    )


def test_ceilings_of_a_busy_machine_are_too_low_and_no_fault(forged, tmp_path):
    """With other programs on the cores, the best rates may be far above the record's."""
    part = forged.timed("fused")["parts"]["step"]
    part["floor_s"] *= 1e-3
    for slot in part["timing"]["slots"]:
        slot["disturbed"] = "preempted"
    claim_anew(forged)
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert [fault for fault in verdict.faults if fault.kind == "floor"] == []


def _other_processor(forged):
    for record in forged.records:
        record["machine"]["cpu"] = "AMD EPYC 9965"


def _other_machine(forged):
    for record in forged.records:
        record["machine"]["hash"] = "0" * 12


def _other_version(forged):
    for record in forged.records:
        if record["adapter"]["name"] == "norse":
            record["adapter"]["version"] = "9.9.9"


@pytest.mark.parametrize(
    ("change", "words", "count"),
    [
        (
            _other_processor,
            "it was not measured on the machine that stands there (AMD EPYC 9965)",
            61,
        ),
        (_other_machine, "machine.hash = '000000000000'", 120),
        (_other_version, "norse 9.9.9: is not among its packages", 12),
    ],
)
def test_what_follows_from_one_change_is_one_line_with_it(forged, tmp_path, change, words, count):
    change(forged)
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert len(verdict.faults) == count
    ((first, following),) = folded(verdict.faults)
    assert words in first.text
    assert following == count - 1
    assert shortened(verdict.faults) == [f"{first} (and {count - 1} that follow from it)"]


def test_an_edited_processor_is_told_before_the_hash_of_the_file(quickstart, tmp_path):
    """The entry's hash is wrong in each record of an edited file, too."""
    cpu = Forged(quickstart).records[0]["machine"]["cpu"]
    (verdict,) = verify(
        [written(tmp_path, quickstart.replace(f'"cpu":"{cpu}"', '"cpu":"AMD EPYC 9965"'))], NOW
    )
    first, second = shortened(verdict.faults)
    assert first.startswith("machine: ") and first.endswith("(and 120 that follow from it)")
    assert second == (
        "content: it is not what was bundled: the hash of its lines is not the one in the first "
        "line"
    )


def test_a_bundle_that_another_version_wrote_is_remarked_on(forged, tmp_path):
    forged.header["snnbench"] = "0.0.9"
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert verdict.faults == []
    assert f"the bundle was written by snnbench 0.0.9, and this is {__version__}" in verdict.remarks


@pytest.mark.parametrize(
    "experiment",
    [
        {},
        {"grid": {"neurons": [97]}},
        {"grid": 3},
        {"grid": {"neurons": [1] * 300, "batch": [1] * 300}},
    ],
)
def test_an_experiment_that_tells_no_plan_is_no_fault(forged, tmp_path, experiment):
    forged.experiment = experiment
    (verdict,) = verify([written(tmp_path, forged.text())], NOW)
    assert [fault for fault in verdict.faults if fault.kind == "missing"] == []
    assert "it has no plan: left-out cases cannot be detected" in verdict.remarks


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]\n", "null", "{" * 5000, "[" * 100_000, '{"snnbench_bundle":2}\n', "\x00", "no"],
)
def test_what_is_no_bundle(tmp_path, text):
    with pytest.raises(NoBundle, match="is no bundle"):
        verify([written(tmp_path, text)], NOW)


def test_a_bundle_of_a_bundle_has_no_fault(tmp_path):
    text = text_of(bundle_of(BundleFile(committed("networks")))[0])
    (verdict,) = verify([written(tmp_path, text)], NOW)
    assert [str(fault) for fault in verdict.faults] == []
    assert "it does not name its submitter (bundle --by)" in verdict.remarks


@pytest.mark.parametrize("name", SETS)
def test_a_committed_set_has_no_fault_as_it_is(name):
    """Its ranks are those that its records give today, so `make site` takes it."""
    (verdict,) = verify([committed(name)], NOW)
    assert [str(fault) for fault in verdict.faults] == []
