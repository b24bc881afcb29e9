"""Nothing of the user's is lost: not in the result folder, not in the folder of temporary files,
not on a full disk."""

import errno
import os
import re

import pytest
from support.command_line import TINY
from support.paths import FAULTY
from support.slow import representatives
from support.trees import tree

from snnbench.common import files
from snnbench.records.store import ResultFolder

NUMPY = "numpy_network.py:NumpyNetwork"
MINE = (
    "scratch/thesis.txt",
    "compiled/x.o",
    "deep/er/a.tmp",
    "deep/a.partial.npz",
    ".records.json.7.tmp",
    "notes.txt",
)


@pytest.fixture(scope="module")
def measured(snnbench_module):
    """A run into a folder that has files of the user with names that were once ours."""
    project = snnbench_module.folder / "project"
    for name in MINE:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("mine")
    (project / "link").symlink_to(snnbench_module.notes)
    before = tree(project)
    config = snnbench_module.config(["numpy"], [NUMPY])
    return snnbench_module.run(config, out="project"), config, before


def test_a_run_into_a_users_folder_leaves_the_users_files(snnbench_module, measured):
    ended, config, before = measured
    assert ended.exit_code == 0, ended.stderr
    assert before.items() <= tree(ended.folder).items()
    again = snnbench_module.run(config, out="project")
    assert "kept, ok" in again.stderr and before.items() <= tree(ended.folder).items()


def test_a_run_is_refused_where_it_would_replace_a_users_file(snnbench):
    (snnbench.folder / "out").mkdir()
    (snnbench.folder / "out" / "results.csv").write_text("mine")
    ended = snnbench.run(snnbench.config(["numpy"], [NUMPY]))
    sentence = "snnbench: out: has results.csv, which snnbench did not write; choose another --out"
    assert (ended.exit_code, ended.message) == (2, sentence)
    assert tree(ended.folder) == {"results.csv": b"mine"}


@pytest.mark.parametrize("verb", ["run", "plan", "quick"])
def test_another_experiment_is_refused_and_leaves_all_as_it_was(snnbench_module, measured, verb):
    ended, _, _ = measured
    config = snnbench_module.config(["numpy"], [NUMPY], name="another")
    asked = (
        ["numpy", "--adapter", FAULTY / NUMPY, "--device", "cpu"]
        if verb == "quick"
        else ["--config", config]
    )
    before = tree(ended.folder)
    refused = snnbench_module(verb, *asked, "--out", "project", out="project")
    name = "quick-soft-N256-T50-B16-L1-fp32-cpu" if verb == "quick" else "another"
    sentence = f"snnbench: project: holds the experiment 'odd', not {name!r}; choose another --out"
    assert (refused.exit_code, refused.message, refused.stdout) == (2, sentence, "")
    assert tree(ended.folder) == before


def test_an_experiment_that_cannot_be_read_refuses_no_run(tmp_path):
    folder = ResultFolder(tmp_path)
    for text in ("{", "[1]", '{"name": 3}', "{}"):
        folder.experiment.write_text(text)
        folder.must_be_of("mine")
    folder.experiment.write_text('{"name": "mine"}')
    folder.must_be_of("mine")


@pytest.mark.parametrize(
    "name", representatives([f"snnbench-{os.getuid()}", f"{files.PREFIX}home"], [0])
)
def test_a_link_in_the_folder_of_temporary_files_is_not_followed(snnbench, name):
    home, temporary = snnbench.folder / "home", snnbench.folder / "tmp"
    temporary.mkdir()
    (home / "7").mkdir(parents=True)
    (home / "7" / "thesis.txt").write_text("mine")
    (home / files.MARKER).write_text(files.TAG)
    (temporary / name).symlink_to(home)
    before = tree(snnbench.folder)
    snnbench.environment["TMPDIR"] = str(temporary)
    ended = snnbench.installed(
        "check",
        "--adapter",
        f"{FAULTY / 'numpy_network.py'}:NumpyNetwork",
        "--neuron",
        "soft",
        *TINY,
    )
    assert ended.exit_code == 0, ended.stderr
    assert tree(snnbench.folder) == before


@pytest.mark.slow
def test_a_damaged_problem_is_told_set_aside_and_computed_again(snnbench_module, measured):
    ended, config, _ = measured
    (problem,) = ended.folder.glob("problems/*.npz")
    whole = problem.read_bytes()
    problem.write_bytes(whole[: len(whole) // 2])
    again = snnbench_module.run(config, "--fresh", out="project")
    assert again.exit_code == 0, again.stderr
    assert (
        f"{problem.name} is damaged: kept as {problem.stem}.damaged, and computed again"
        in again.stderr
    )
    assert problem.read_bytes() == whole and len(list(problem.parent.iterdir())) == 2
    assert "damaged" not in snnbench_module.run(config, "--fresh", out="project").stderr


VERBS = {
    "run": lambda config, out: ("run", "--config", config, "--out", out),
    "merge": lambda config, out: ("merge", "project", "--out", out),
    "report": lambda config, out: ("report", "project", "--out", out),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("after", representatives([0, 3], [1]))
def test_a_full_disk_is_one_sentence_with_the_name_of_the_file(
    snnbench_module, measured, monkeypatch, verb, after
):
    """It gets full while one of the first files is written."""
    left, real = [after], os.fsync

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    _, config, _ = measured
    monkeypatch.setattr(files.os, "fsync", full)
    out = f"full-{verb}-{after}"
    ended = snnbench_module(*VERBS[verb](config, out))
    monkeypatch.undo()
    assert ended.exit_code == 1
    last = ended.stderr.splitlines()[-1]
    assert (
        last.startswith("snnbench: No space left on device: ")
        and f"{out}/" in last
        and last.endswith("; make room there")
    )
    assert not [
        path
        for path in (snnbench_module.folder / out).rglob("*")
        if path.name.startswith((files.PREFIX, ".snnbench-"))
    ]
    again = snnbench_module(*VERBS[verb](config, out))
    assert again.exit_code == 0, again.stderr


def test_names_that_are_too_long_are_one_sentence(snnbench):
    long, config = 300 * "a", snnbench.config(["numpy"], [NUMPY])
    for arguments in (
        ["run", "--config", config, "--out", f"new/{long}"],
        ["init", f"{long}.toml"],
        ["report", long],
    ):
        ended = snnbench(*arguments)
        assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
        # From Python 3.14 on a path that is too long for the system is one that does not exist.
        assert re.search("File name too long|there is no such folder$", ended.message)
    assert sorted(path.name for path in snnbench.folder.iterdir()) == ["notes", "odd.toml"]
