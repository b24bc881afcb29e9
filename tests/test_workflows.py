"""What can be said of the CI workflows without a runner: what runs where, and that no fork
reaches the owner's machine."""

import re
import subprocess
import tomllib

import pytest
import yaml
from support.paths import ROOT

import snnbench

FOLDER = ROOT / ".github" / "workflows"
NO_FORK = "github.event.pull_request.head.repo.full_name == github.repository"


def jobs(name: str) -> dict[str, dict]:
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text())["jobs"]


def unguarded(jobs: dict[str, dict]) -> list[str]:
    """Jobs on machines of the owner that a pull request from a fork could start."""
    return [
        name
        for name, job in jobs.items()
        if "self-hosted" in job["runs-on"] and NO_FORK not in str(job.get("if", ""))
    ]


def test_no_fork_runs_on_the_owners_machine():
    assert unguarded(jobs("ci")) == unguarded(jobs("release")) == []
    spoilt = jobs("ci")
    spoilt["gpu"]["if"] = "vars.GPU_RUNNER == 'true'"
    assert unguarded(spoilt) == ["gpu"]
    triggers = (FOLDER / "ci.yml").read_text()
    assert (
        "pull_request_target" not in triggers and "workflow_run" not in triggers
    )  # which have secrets, for a fork's code


def test_every_python_that_we_claim_is_tried():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    claimed = [
        text.rpartition(" ")[2] for text in classifiers if re.search(r":: Python :: \d\.\d+$", text)
    ]
    for name in ("cpu", "wheel"):
        assert jobs("ci")[name]["strategy"]["matrix"]["python"] == claimed


def test_tokens_read_only_but_for_the_draft():
    for name in ("ci", "release"):
        assert yaml.safe_load((FOLDER / f"{name}.yml").read_text())["permissions"] == {
            "contents": "read"
        }
    given = {
        name: job["permissions"] for name, job in jobs("release").items() if "permissions" in job
    }
    assert given == {"draft": {"contents": "write"}}
    commands = "\n".join(
        step.get("run", "") for job in jobs("release").values() for step in job["steps"]
    )
    assert "--draft" in commands
    assert not re.search(r"twine upload|docker push|uv publish", commands), (
        "publishing is the owner's"
    )


def test_what_the_workflows_call_is_there():
    text = "".join(path.read_text() for path in FOLDER.glob("*.yml"))
    paths = re.findall(r"(?<![\w/])(\.ci/\w+|configs/[\w-]+\.toml|tests/[\w/]+\.py)", text)
    targets, makefile = re.findall(r"\bmake (\w+)", text), (ROOT / "Makefile").read_text()
    assert paths and [path for path in paths if not (ROOT / path).exists()] == []
    assert (
        targets
        and [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
        == []
    )


def notes(version: str) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / ".ci" / "changelog", version], capture_output=True, text=True)


@pytest.mark.parametrize("version", ["0.0.9", "0.1"])
def test_a_version_without_changes_is_no_release(version):
    assert notes(version).returncode == 1 and version in notes(version).stderr


def test_the_notes_are_the_part_of_the_changelog():
    said = notes(snnbench.__version__)
    assert said.returncode == 0 and not re.search("^## ", said.stdout, re.MULTILINE)
    assert said.stdout.strip() in (ROOT / "CHANGELOG.md").read_text()
