"""The files of a run name neither its user nor its machine, and steer no terminal."""

import json
import re
import shutil
import sys

import pytest
from platformdirs import user_cache_path
from support.paths import FAULTY, ROOT

from snnbench.records.store import ResultFolder
from snnbench.report.page.reproduce import result_set

USER = "alice-of-the-lab"
ADAPTERS = {
    "tells": "Tells",
    "tells-why": "TellsWhy",
    "tells-late": "TellsLate",
    "tells-at-once": "TellsAtOnce",
}
SECRET_FOLDER = "offer-to-a-client"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
SECRETS = {"TORCH_HUB_TOKEN": "hunter2", "CUDA_SECRET": "hunter3", "HF_TOKEN": "hunter4"}


@pytest.fixture(scope="module")
def told(snnbench_module):
    """A run in a home folder, with adapters that lie elsewhere and tell everything; and its
    output."""
    home, adapters = (
        snnbench_module.folder / "home" / USER,
        snnbench_module.folder / SECRET_FOLDER / "adapters",
    )
    for folder in (home, adapters):
        folder.mkdir(parents=True)
    for name in ("telling.py", "numpy_network.py"):
        shutil.copy(FAULTY / name, adapters / name)
    cache = {"SNNBENCH_CACHE": str(user_cache_path("snnbench"))}
    own = {
        "HOME": str(home),
        "USER": USER,
        "XLA_FLAGS": f"--xla_dump_to={home}/dump",
        **SECRETS,
        **cache,
    }
    snnbench_module.environment |= own
    config = snnbench_module.config(
        [*ADAPTERS], [f"{adapters}/telling.py:{name}" for name in ADAPTERS.values()]
    )
    return snnbench_module.run(config, out=home / "results" / USER), str(home)


def test_no_file_names_home_or_user_or_a_secret(told):
    ended, home = told
    files = [path for path in ended.folder.rglob("*") if path.is_file() and path.suffix != ".npz"]
    assert {path.name for path in files} >= {
        "experiment.json",
        "planned.json",
        "results.csv",
        "report.html",
    }
    for path in files:
        text = path.read_text(encoding="utf-8")
        for word in (home, USER, SECRET_FOLDER, str(ROOT), sys.prefix, *SECRETS, *SECRETS.values()):
            assert word not in text, (
                path,
                word,
                text[max(text.find(word) - 200, 0) : text.find(word) + 100],
            )


def test_a_bundle_of_it_names_none_either(told, snnbench_module):
    """tests/cli/test_bundle.py has an experiment with a secret name."""
    ended, home = told
    made = snnbench_module("bundle", ended.folder, "--out", "mine.bundle.jsonl")
    assert made.exit_code == 0, made.stderr
    text = (snnbench_module.folder / "mine.bundle.jsonl").read_text(encoding="utf-8")
    for word in (home, USER, SECRET_FOLDER, str(ROOT), "Traceback", *SECRETS.values()):
        assert word not in text, (word, text[max(text.find(word) - 200, 0) :][:300])
    verified = snnbench_module("verify", "mine.bundle.jsonl")
    assert verified.exit_code == 0, verified.stdout


def test_what_they_told_is_there_all_the_same(told):
    records = {record["case"]["framework"]: record for record in told[0].records}
    assert {name: record["status"] for name, record in records.items()} == {
        "tells": "ok",
        "tells-why": "unsupported",
        "tells-late": "error",
        "tells-at-once": "crash",
    }
    assert (
        records["tells"]["warnings"][0]
        == records["tells"]["facts"]["output_dtype"]
        == "~/secret of USER"
    )
    assert records["tells-why"]["reason"] == "~/secret of USER"
    assert "ValueError: ~/secret of USER" in records["tells-late"]["reason"]
    assert 'File "telling.py", line' in records["tells-late"]["traceback"]
    assert "~ USER" in records["tells-at-once"]["stderr_tail"]
    assert records["tells"]["adapter"]["reference"] == "telling.py:Tells"
    assert records["tells"]["environment"]["variables"]["XLA_FLAGS"] == "--xla_dump_to=~/dump"


def test_an_adapter_without_its_folder_resumes_and_is_reported(told, snnbench_module):
    ended, _ = told
    written = json.loads((ended.folder / "experiment.json").read_text())
    assert written["adapters"] == [f"telling.py:{name}" for name in ADAPTERS.values()]
    assert [len(digest) for digest in written["adapter_sources"]] == [64] * len(ADAPTERS)
    assert result_set(ResultFolder(ended.folder), []).strange == [], "a report reads it"
    config, only = snnbench_module.folder / "odd.toml", ["--only", "framework=tells"]
    resumed = snnbench_module("plan", "--config", config, "--out", ended.folder, *only, "--json")
    assert [case["state"] for case in json.loads(resumed.stdout)["cases"]] == ["done"]


def test_no_terminal_is_steered(told, snnbench_module):
    ended, _ = told
    reported = snnbench_module("report", ended.folder)
    for text in (
        ended.stdout,
        ended.stderr,
        reported.stdout,
        (ended.folder / "results.csv").read_text(),
    ):
        assert not STEERING.search(text), STEERING.search(text)
