"""A bundle holds the allowed fields alone, has the same bytes from the same records, and stays
small."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import committed
from support.synthetic import blocks, record

from snnbench.common.mistakes import ConfigError
from snnbench.community.bundle import bundle_of, text_of
from snnbench.community.scrub import FIELDS, INSIDE, harmless, placeless, scrubbed
from snnbench.records.bundle import BundleFile
from snnbench.records.record import RECORD, Record
from snnbench.records.store import ResultFolder, SetPlan
from snnbench.schema import Machine, Monitored, RecordedAdapter, RecordedEnvironment

SECRETS = ("secretuser", "vault9", "alice@example.org", "10.0.0.7", "hunter2", "/srv/data")
TOLD = (
    "cannot open /srv/data/spikes.npy for alice@example.org at 10.0.0.7, see "
    "https://me:hunter2@git.example.org on vault9"
)


@pytest.fixture
def private_machine(monkeypatch):
    monkeypatch.setenv("HOME", "/home/secretuser")
    monkeypatch.setenv("USER", "secretuser")
    monkeypatch.setattr("snnbench.community.scrub.platform.node", lambda: "vault9.example.org")


def folder_of(path, records) -> ResultFolder:
    folder = ResultFolder(path)
    folder.make()
    for one in records:
        folder.write_record(one)
    return folder


def telling(status="ok", **fields):
    """A record with private words in all of its texts."""
    text = f"{TOLD}, ~secretuser"
    one = record("torch", status, f"ValueError: {text} (in part 'backward')")
    told = {
        "traceback": text,
        "stderr_tail": text,
        "memory_meaning": text,
        "warnings": [text],
        "set": "secretuser-1",
    }
    machine = {**one.machine, "kernel": "6.1-secretuser"}
    environment = {
        **one.environment,
        "variables": {"TOKEN": "hunter2"},
        "image": {"name": "vault9/mine", "digest": "sha256:ab"},
    }
    return one.model_copy(
        update={
            **told,
            "facts": {"native": text, "mine": text},
            "machine": machine,
            "environment": environment,
        }
    )


@pytest.mark.parametrize(
    "status", ["ok", "error", "crash", "import_error", "unsupported", "check_failed", "oom_host"]
)
def test_a_bundle_does_not_name_its_machine(tmp_path, private_machine, status):
    folder = folder_of(tmp_path / "secretuser", [telling(status)])
    experiment = {"name": "mine", "adapters": ["/home/secretuser/a.py:A"], "seed": 0}
    folder.write_plan(SetPlan({**experiment, "data": {"folder": "/srv/data"}}))
    text = text_of(bundle_of(folder, note="on vault9 of secretuser")[0])
    for word in SECRETS:
        assert word not in text.lower(), (word, text)
    assert json.loads(text.splitlines()[1])["experiment"] == {"name": "mine", "seed": 0}


def test_of_an_error_its_kind_and_part_stay(private_machine):
    (part,) = [
        part
        for part in scrubbed(telling("error"))["parts"].values()
        if part.get("status") == "error"
    ][:1]
    assert part["reason"] == "ValueError: (its words are left out, in part 'backward')"
    killed = record("torch", "crash", "killed by SIGSEGV in part 'step'")
    assert scrubbed(killed)["reason"] == killed.reason
    refused = record("torch", "unsupported", "JAX has no autocast; use bf16")
    assert scrubbed(refused)["reason"] == refused.reason


def test_there_are_the_allowed_fields_alone():
    text = text_of(bundle_of(BundleFile(committed("quickstart")))[0])
    shared = json.loads(text.splitlines()[2])["shared"]
    for written in text.splitlines()[3:]:
        values = json.loads(written).get("record", {})
        assert values.keys() <= {"schema", *FIELDS}
        for name in ("facts", "monitor"):
            assert values.get(name, {}).keys() <= {*INSIDE[name]}
    assert all(
        entry.keys() <= {*INSIDE[name]}
        for name in ("adapter", "environment", "machine")
        for entry in shared[name].values()
    )


def test_every_field_is_listed_as_public_or_private():
    """A new field of a record must be listed as public or private."""
    assert {*Record.model_fields} == {*FIELDS, "schema_version", "traceback", "stderr_tail"}
    home = {"environment": {"packages", "variables"}, "machine": {"kernel"}, "monitor": {"watched"}}
    kinds = {
        "adapter": RecordedAdapter,
        "environment": RecordedEnvironment,
        "machine": Machine,
        "monitor": Monitored,
    }
    for name, kind in kinds.items():
        assert {*kind.__annotations__} == {*INSIDE[name]} | home.get(name, set()), name


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = [*blocks("torch", neurons=97), *blocks("jax", neurons=97)]
    one, two = folder_of(tmp_path / "one", records), folder_of(tmp_path / "two", reversed(records))
    assert text_of(bundle_of(one, "me")[0]) == text_of(bundle_of(two, "me")[0])
    assert text_of(bundle_of(one, "me")[0]) != text_of(bundle_of(one, "you")[0])


def test_what_was_scrubbed_is_a_record_and_is_not_scrubbed_again(private_machine):
    for status in ("ok", "error", "unsupported"):
        once = RECORD.validate_python(scrubbed(telling(status)))
        assert scrubbed(once) == scrubbed(once, placeless) == scrubbed(telling(status))


@pytest.mark.parametrize(
    ("name", "most"),
    [("quickstart", 0.52e6), ("example", 2.9e6), ("networks", 2e6), ("coverage", 4.1e6)],
)
def test_a_bundle_is_small(name, most):
    assert committed(name).stat().st_size < most


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("LIFNode(tau=2, ATan()) of version 0.0.0.0.14: v + (x − v)/2", None),
        ("1/(64·scale) and/or 3/4, T/B/N, kernel 6.1.0", None),
        ("https://github.com/norse/norse/issues/1", None),
        ("at 10.0.0.7", "at <address>"),
        ("at 300.1.2.3.4", None),
        ("C:\\Users\\Alice\\x.npy is gone", "<path> is gone"),
        ("'/home/a b/x.npy'", "'<path>'"),
        ("~/x: no such file", "<path>: no such file"),
        (
            "needs nvcc (CUDA's compiler): /usr/local/cuda/bin",
            "needs nvcc (CUDA's compiler): <path>",
        ),
        ("ask a.b+c@lab.example.org", "ask <address>"),
        ("git://bob:pw@example.org/x", "git://<login>@example.org/x"),
    ],
)
def test_patterns(text, left):
    assert placeless(text) == (text if left is None else left)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_harmless_text_stays_as_it_is(text):
    assert placeless(placeless(text)) == placeless(text)
    assert harmless(harmless(text)) == harmless(text)


def test_a_name_that_cannot_be_changed_is_refused(tmp_path, private_machine):
    mine = record("secretuser-net")
    folder = folder_of(
        tmp_path / "out",
        [mine.model_copy(update={"adapter": {**mine.adapter, "reference": "mine.py:Mine"}})],
    )
    with pytest.raises(ConfigError, match="the name of an adapter names this machine or its user"):
        bundle_of(folder)


def test_what_cannot_be_read_is_told(tmp_path):
    folder = folder_of(tmp_path / "out", [record("torch")])
    (folder.records / "0123456789abcdef-0-0123456789ab.json").write_text("{")
    (sentence,) = bundle_of(ResultFolder(folder.path))[1]
    assert "is not a record" in sentence


def test_a_folder_without_records(tmp_path):
    ResultFolder(tmp_path).make()
    with pytest.raises(ConfigError, match="no records there"):
        bundle_of(ResultFolder(tmp_path))
