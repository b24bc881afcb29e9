"""Records are written whole or not at all, and stay readable."""

import json
import shutil

import pytest
from pydantic import ValidationError
from support.paths import GOLDEN
from support.synthetic import record
from support.trees import tree

from snnbench.common.files import write_atomically
from snnbench.common.mistakes import ConfigError
from snnbench.records.record import Record
from snnbench.records.store import MARK, ResultFolder, SetPlan

RECORD = GOLDEN / "record-2.json"


def golden() -> dict:
    return json.loads(RECORD.read_text())


def nested(levels: int) -> dict:
    """Returns what has so many levels as a value of a record."""
    inner: list = []
    for _ in range(levels - 3):
        inner = [inner]
    return {"x": inner}


def test_a_users_files_stay_and_where_they_would_be_replaced_the_folder_is_refused(tmp_path):
    for name in (
        "scratch/thesis.txt",
        "compiled/a.o",
        "deep/er/a.tmp",
        "a.partial.npz",
        ".a.json.7.tmp",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = tree(tmp_path)
    folder = ResultFolder(tmp_path)
    folder.make()
    with folder.locked(), folder.writing():
        folder.write_record(Record.model_validate(golden()))
    ResultFolder(tmp_path).make()
    assert before.items() <= tree(tmp_path).items()
    assert set(tree(tmp_path)) - set(before) == {
        ".snnbench",
        "run.lock",
        "records",
        f"records/{next(folder.records.iterdir()).name}",
    }


OURS = [
    "records/a.json",
    "problems/a.npz",
    "plots/a.png",
    "experiment.json",
    "planned.json",
    "results.csv",
    "report.html",
]


@pytest.mark.parametrize(
    "name", [*OURS, "results.parquet", "results.tex", "environment-a.json", ".snnbench"]
)
def test_a_folder_with_files_of_our_names_that_are_not_ours_is_refused(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(
        ConfigError,
        match=f"has {name.split('/')[0]}, which snnbench did not write; choose another --out",
    ):
        ResultFolder(tmp_path).make()
    assert tree(tmp_path) == before


def test_a_marked_folder_is_ours(tmp_path):
    (tmp_path / ".snnbench").write_text(MARK)
    (tmp_path / "results.csv").write_text("framework")
    ResultFolder(tmp_path).make()
    assert (tmp_path / ".snnbench").read_text() == MARK


def test_a_folder_that_holds_a_record_is_ours_without_its_marker(tmp_path):
    folder = ResultFolder(tmp_path)
    folder.write_record(Record.model_validate(golden()))
    folder.table.write_text("framework")
    ResultFolder(tmp_path).make()
    assert not folder.marker.exists()


def test_a_folder_whose_name_is_too_long_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be a result folder: File name too long"):
        ResultFolder(tmp_path / (300 * "a")).make()


def without_device(parts):
    parts["step"]["timing"]["slots"][0]["device"] = None
    return parts


@pytest.mark.parametrize(
    "spoilt, said",
    [
        ({"schema": 99}, "schema = 99: must be 2"),
        (
            {"case": {**golden()["case"], "neurons": "xx"}},
            "case: neurons.0 = 'xx': must be a whole number",
        ),
        (
            {"case": {**golden()["case"], "neurone": 97}},
            "case: neurone is unknown",
        ),
        ({"case": {}}, "case: framework is missing"),
        ({"case": {"framework": "torch"}}, "case: neuron is missing"),
        (
            {"case": {**golden()["case"], "neuron": {}}},
            "case: neuron = {}: must be native or have a reset",
        ),
        ({"facts": nested(202)}, "it is nested more than 201 levels deep"),
        ({"facts": nested(400)}, "it is nested more than 201 levels deep"),
        (
            {"parts": without_device(golden()["parts"])},
            "parts.step.timing: a slot's device is null: must be the CPU time of a call",
        ),
        *(
            ({"monitor": {"watched": watched}}, "watched: must have lists of equal length")
            for watched in ({"at": [1.0], "mhz": []}, {"mhz": [1.0]}, {"at": [], "mhz": []})
        ),
        ({"live_set": "../../x"}, "live_set = '../../x': must be 12 hexadecimal digits"),
        ({"block": "first"}, "block = 'first': must be a whole number"),
    ],
)
def test_what_no_run_writes_is_no_record_and_the_sentence_says_why(tmp_path, spoilt, said):
    path = tmp_path / "records" / "spoilt.json"
    write_atomically(path, json.dumps({**golden(), **spoilt}))
    records, (sentence,) = ResultFolder(tmp_path).read_records()
    assert (
        records == []
        and sentence.startswith(f"{path} is not a record of schema 2: ")
        and said in sentence
    )


def test_the_golden_record_can_still_be_read():
    """An earlier version wrote it: a new schema must still read it, or raise the version."""
    record = Record.model_validate(golden())
    assert (record.status, record.block, record.schema_version) == ("ok", 0, 2)
    assert record.typed_case.framework == "numpy"
    assert record.typed_case.neuron.label() == "soft"
    assert (
        record.timing("step").slots[0].samples and record.timing("step").device_clock == "process"
    )
    assert set(record.memory) == {"forward", "backward", "step", "inference"}
    assert record.proof["passed"] is True


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = Record.model_validate(golden())
    path = ResultFolder(tmp_path).write_record(record)
    assert path.name == f"{record.case_id}-{record.block}-{record.done_key}.json"
    assert ResultFolder(tmp_path).read_records() == ([record], [])
    assert json.loads(path.read_text()) == golden()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace('"status"', '"state"'),
        lambda text: "[]",
        lambda text: text.replace('"block": 0', '"block": "first"'),
    ],
)
def test_a_damaged_record_is_reported_and_the_others_read(tmp_path, damage):
    ResultFolder(tmp_path).write_record(Record.model_validate(golden()))
    (tmp_path / "records" / "damaged.json").write_text(damage(RECORD.read_text()))
    records, unreadable = ResultFolder(tmp_path).read_records()
    assert len(records) == 1
    assert len(unreadable) == 1
    assert "damaged.json is not a record" in unreadable[0]


def test_records_are_read_once_and_what_is_written_counts_as_read(tmp_path):
    folder, record = ResultFolder(tmp_path), Record.model_validate(golden())
    assert folder.read_records() == ([], [])
    folder.write_record(record)
    folder.record_path("other", 0, "k").write_text("{")
    assert folder.read_records() == ([record], []), "no other process writes there"
    assert folder.record(record.case_id, record.block, record.done_key) == record
    assert folder.record(record.case_id, 1, record.done_key) is None
    again = ResultFolder(tmp_path)
    assert again.read_records()[0] == [record] and len(again.read_records()[1]) == 1


def test_a_record_that_cannot_be_read_is_set_aside(tmp_path):
    path = ResultFolder(tmp_path).record_path("id", 0, "key")
    write_atomically(path, "{")
    folder = ResultFolder(tmp_path)
    assert folder.set_aside("id", 1, "key") is None
    assert (
        folder.set_aside("id", 0, "key")
        == f"{path} cannot be read: kept as id-0-key.damaged, and measured again"
    )
    assert folder.set_aside("id", 0, "key") is None
    assert folder.read_records() == ([], []) and [
        each.name for each in folder.records.iterdir()
    ] == ["id-0-key.damaged"]


def test_one_run_writes_at_a_time(tmp_path):
    second = ResultFolder(tmp_path)
    with (
        ResultFolder(tmp_path).locked(),
        pytest.raises(ConfigError, match="another run is writing there"),
        second.locked(),
    ):
        raise AssertionError("the lock is held")
    with ResultFolder(tmp_path).locked():
        pass


def test_a_part_of_a_plan_adds_to_what_the_folder_knows(tmp_path):
    folder, (a, b, c) = ResultFolder(tmp_path), (letter * 16 for letter in "abc")
    assert folder.read_planned() == ({}, [])
    folder.write_plan(SetPlan(planned={a: "case a", b: "case b"}))
    folder.write_plan(SetPlan(planned={b: "case B"}, is_subset=True))
    assert folder.read_planned() == ({a: "case a", b: "case B"}, [])
    folder.write_plan(SetPlan(planned={b: "case b"}))
    assert folder.read_planned() == ({b: "case b"}, [])
    folder.planned.write_text("[]")
    names, (sentence,) = folder.read_planned()
    assert not names and sentence.endswith("it must be an object, in braces")
    folder.write_plan(SetPlan(planned={c: "case c"}, is_subset=True))
    assert folder.read_planned() == ({c: "case c"}, [])


def test_a_folder_that_is_removed_during_a_run_is_restored_with_one_sentence(tmp_path):
    folder = ResultFolder(tmp_path / "set")
    plan = SetPlan({"name": "a"}, {"0" * 16: "torch"}, [{"hash": "e"}])
    with folder.begin(plan):
        folder.write_record(record())
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    shutil.rmtree(folder.path)
    folder.write_record(record("jax"))
    assert list(folder.restore()) == [
        f"{folder} was removed by another process during the run: 5 files are restored"
    ]
    del before[folder.path / "run.lock"]
    assert (
        before.items()
        <= {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}.items()
    )
    folder.planned.write_text("{}")
    assert list(folder.restore()) == [
        f"{folder.planned} was changed by another process during the run, and is restored"
    ]
    assert list(folder.restore()) == []


def test_a_run_begins_in_a_folder_of_its_own_experiment_alone(tmp_path):
    folder, plan = ResultFolder(tmp_path / "set"), SetPlan({"name": "a"}, {"0" * 16: "torch"})
    with folder.begin(plan) as scratch, pytest.raises(ConfigError, match="another run is writing"):
        assert folder.path in scratch.parents and folder.marker.read_text() == MARK
        with ResultFolder(folder.path).begin(plan):
            raise AssertionError("two runs in one folder")
    before = tree(folder.path)
    with pytest.raises(ConfigError, match="holds the experiment 'a', not 'b'"):
        folder.begin(SetPlan({"name": "b"}, {})).__enter__()
    assert tree(folder.path) == before


def test_a_value_that_one_field_may_have_is_no_value_of_another():
    """Values that records share are understood once for each field."""
    right = golden()
    Record.model_validate(right)
    with pytest.raises(ValidationError, match=r"measure\.blocks"):
        Record.model_validate({**right, "measure": right["machine"]})
