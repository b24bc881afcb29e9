"""The workflow of a results repository, run step by step as GitHub would: what it lets through,
and what it does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.forgery import Forged
from support.paths import ROOT, committed

from snnbench.community.bundle import bundle_of, text_of
from snnbench.community.verify.fault import KINDS
from snnbench.records.bundle import BundleFile

FOLDER = ROOT / "docs" / "results-repository"
WORKFLOW = yaml.safe_load((FOLDER / "results.yml").read_text())
PLACE = "bundles/epyc/2026-11-24-neuro.bundle.jsonl"


@pytest.fixture(scope="module")
def bundles() -> dict[str, str]:
    return {
        name: text_of(bundle_of(BundleFile(committed(name)), "neuro")[0])
        for name in ("quickstart", "natives")
    }


class Repository:
    """A clone, in which `main` has one bundle and a submission is committed on top."""

    def __init__(self, folder: Path, merged: str):
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "a")
        self.base = self.commit({PLACE: merged})

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, files: dict[str, str | None]) -> str:
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD")

    def workflow(self, author: str = "neuro") -> str:
        """The name of the first step that fails, and what it prints; empty if none does."""
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
        }
        given = {"BASE": self.base, "AUTHOR": author}
        for step in WORKFLOW["jobs"]["verify"]["steps"]:
            if "run" in step and step["name"] != "install":
                assert set(step.get("env", {})) <= given.keys()
                command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
                ended = subprocess.run(
                    command,
                    cwd=self.folder,
                    env={**environment, **given},
                    capture_output=True,
                    text=True,
                )
                if ended.returncode:
                    return f"{step['name']}: {ended.stdout}{ended.stderr}"
        return ""


@pytest.fixture
def repository(tmp_path, bundles):
    return Repository(tmp_path, bundles["quickstart"])


def test_a_sound_submission_passes_and_is_previewed(repository, bundles):
    repository.commit({"bundles/epyc/mine.bundle.jsonl": bundles["natives"]})
    assert repository.workflow() == ""
    assert (repository.folder / "site" / "index.html").is_file()


def test_a_forgery_does_not(repository, bundles):
    forged = Forged(bundles["natives"])
    forged.records.pop()
    forged.results[0]["step_s"] *= 0.5
    repository.commit({"bundles/epyc/mine.bundle.jsonl": forged.text()})
    failed = repository.workflow()
    assert failed.startswith("everything that can be recomputed") and "time: " in failed


def test_a_submission_is_by_its_own_author(repository, bundles):
    repository.commit({"bundles/epyc/mine one.bundle.jsonl": bundles["natives"]})
    assert "is by 'neuro', and mallory submits it" in repository.workflow("mallory")


@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_what_is_merged_is_not_changed(repository, bundles, change):
    repository.commit(
        {
            PLACE: bundles["natives"] if change == "edited" else None,
            "bundles/x.bundle.jsonl": bundles["natives"],
        }
    )
    assert "a merged bundle is not changed" in repository.workflow()


def test_a_bundle_is_withdrawn_as_it_is(repository, bundles):
    withdrawn = {
        PLACE: None,
        "bundles/x.bundle.jsonl": bundles["natives"],
        f"withdrawn/{Path(PLACE).name}": bundles["quickstart"],
    }
    repository.commit(withdrawn)
    assert repository.workflow() == ""
    repository.commit({f"withdrawn/{Path(PLACE).name}": bundles["natives"]})
    assert "a merged bundle is not changed" in repository.workflow()


def test_a_submission_gets_no_rights_and_no_text_of_it_is_run():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in WORKFLOW["jobs"]["verify"]
    assert "pull_request_target" not in WORKFLOW[True], "`on` is a truth value in YAML"
    text = (FOLDER / "results.yml").read_text()
    assert "secrets." not in text
    for job in WORKFLOW["jobs"].values():
        assert all("${{" not in step.get("run", "") for step in job["steps"]), (
            "texts come as variables"
        )
    assert WORKFLOW["jobs"]["publish"]["if"] == "github.event_name == 'push'"
    checkout = WORKFLOW["jobs"]["verify"]["steps"][0]
    assert checkout["with"]["persist-credentials"] is False


def test_the_page_lists_every_kind_of_fault():
    page = (ROOT / "docs" / "community.md").read_text()
    listed = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", page, re.MULTILINE))
    listed.pop("kind")
    assert listed == KINDS
