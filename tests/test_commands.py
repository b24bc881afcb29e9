"""Every command block of the README, of docs/ and of the skill for agents works as it is written, in a fresh checkout.

What measures, proves, draws or installs for long is replaced; what the command does before and after it
is real. Files that a page tells its reader to write are those of its own examples.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.paths import ROOT, committed
from support.trees import unbundled
from typer.main import get_command

from snnbench.cli import check, env, exit_codes, profile, quick
from snnbench.cli import run as running
from snnbench.cli.app import app
from snnbench.core.status import STATUSES
from snnbench.executors import slurm
from snnbench.executors.local import LocalExecutor
from snnbench.records.bundle import BundleFile
from snnbench.records.merge import merge_folders
from snnbench.report.answer import verdict
from snnbench.report.columns.metrics import METRICS
from snnbench.report.plots import DRAWING
from snnbench.runner import planning
from snnbench.runner.check import Checked
from snnbench.runner.profile import Profiled

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "bench" / "SKILL.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
SNNBENCH = ("snnbench", ".venv/bin/snnbench")
LOCAL = {"python", "git", "cp", "mkdir"}
"""Programs that are called like snnbench."""
OTHERS = {"pip", "uv", "uvx", "docker", "gh", "cd", "."}
"""Programs that need a network or an engine and are not called here, or belong to the shell; what
`docker run` and `uvx` pass to snnbench is parsed. `.ci/run` and `.ci/container` call make and docker."""
WRITTEN = {
    "mine.toml": ("experiments.md", "toml", 'name = "mine"'),
    "mine.py": ("adapter.md", "python", "class Mine"),
    **dict.fromkeys(
        ("model.py", "old.py", "new.py"), ("examine.md", "python", "utils.reset(self)")
    ),
    "tests/snnbench_adapter.py": ("maintainers.md", "python", "class Mine"),
}
"""Files that the reader writes, with the example of a page that they hold."""
MEASURED = ("DIR", "OTHER", "BASE", "NEW", "RESULTS")
"""Names of result folders of the reader."""
ENDS = {exit_codes.FINE, exit_codes.FAILED, exit_codes.NOTHING}
"""Exit codes of commands that came to their end: nothing is measured here, and parts of the standard
environment may be missing."""


def blocks(page: Path, language: str = "") -> list[str]:
    """Returns the code blocks of a page in a language; commands have none."""
    pattern = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
    found = pattern.findall(page.read_text("utf-8"))
    return [text for _, marked, text in found if marked == language]


def commands(block: str) -> list[list[str]]:
    """Returns the words of a block's commands, without remarks."""
    lines = block.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [command for line in words for command in split(line, "&&") if command]


def split(words: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def parse(words: list[str]) -> None:
    """Parses the arguments of snnbench without calling a verb. Raises click's errors."""
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        context = command.make_context(command.name, [*words], parent=context)
        _name, command, words = command.resolve_command(context, words)
    command.make_context(command.name, words, parent=context)


def arguments(command: list[str]) -> list[str] | None:
    """Returns the arguments of snnbench in a command, also in a container; None without snnbench."""
    if command[0] in SNNBENCH:
        return split(command, ">")[0][1:]
    if command[:2] == ["docker", "run"] or command[0] == "uvx":
        return command[command.index("snnbench") + 1 :] or ["doctor"]
    return None


BLOCKS = [
    pytest.param(page, commands(block), id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page), 1)
]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_a_command_names_a_program_and_options_that_exist(page, block):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for program, *words in block:
        if (ours := arguments([program, *words])) is not None:
            parse(ours)
        elif program == "make":
            assert {*words} <= {*targets}
        elif program == "python":
            script, *options = words
            known = (ROOT / script).read_text("utf-8")
            assert all(f'"{word}"' in known for word in options if word.startswith("--"))
        elif program.startswith(".ci/"):
            assert (ROOT / program).is_file()
        else:
            assert program in LOCAL | OTHERS


@pytest.mark.parametrize("wrong", ["quick --neuronz 3", "run quickstart --frsh", "env creat x"])
def test_a_wrong_command_is_found(wrong):
    with pytest.raises(Exception, match=r"No such|takes no argument"):
        parse(shlex.split(wrong))


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_snnbench_is_on_the_path_after_make(page, block):
    """`make` installs into .venv, which a block enters before it calls the bare command."""
    made = False
    for command in block:
        made = (made or command[0] == "make") and command != [".", ".venv/bin/activate"]
        assert not (made and command[0] == "snnbench")


@pytest.fixture
def checkout(snnbench, monkeypatch):
    """The command line in a checkout, where nothing is measured, proved, drawn or installed."""
    for name in ("configs", "docs", "scripts", "README.md"):
        (snnbench.folder / name).symlink_to(ROOT / name)
    (snnbench.folder / "results").mkdir()
    for path in (ROOT / "results").iterdir():
        if path.name != "local":  # which holds what was measured in this checkout
            (snnbench.folder / "results" / path.name).symlink_to(path)
    for name, (page, language, line) in WRITTEN.items():
        (text,) = [each for each in blocks(ROOT / "docs" / page, language) if line in each]
        (snnbench.folder / name).parent.mkdir(exist_ok=True)
        (snnbench.folder / name).write_text(text)
    unbundled("quickstart", snnbench.folder / MEASURED[0])
    for name in MEASURED[1:]:
        shutil.copytree(snnbench.folder / MEASURED[0], snnbench.folder / name)

    def measured(plan, folder, *_):
        merge_folders([BundleFile(committed("quickstart"))], folder)
        values = json.loads(folder.experiment.read_text())
        folder.experiment.write_text(json.dumps({**values, "name": plan.experiment.name}))
        return False

    class Proved:
        @staticmethod
        def prove(planned):
            return Checked(planned.case, "ok", None)

    monkeypatch.setattr(running, "execute_shown", measured)
    monkeypatch.setattr(quick, "execute_shown", measured)
    monkeypatch.setattr(check, "checker", contextmanager(lambda seconds: iter([Proved])))
    monkeypatch.setattr(profile, "profiled", lambda case, *_: Profiled(case.case, "ok", None))
    for module in (env, running):
        monkeypatch.setattr(module, "create_shown", lambda *_: None)
    monkeypatch.setattr(planning, "_executor", lambda *_: LocalExecutor())
    for suffix in DRAWING:
        monkeypatch.setitem(DRAWING, suffix, lambda spec: b"")
    monkeypatch.setattr(slurm, "call", lambda name, *_: "1" if name == "sbatch" else "")
    return snnbench


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_the_commands_of_a_block_run_one_after_the_other(page, block, checkout):
    here = checkout.folder
    for command in block:
        if command[0] == "cd":
            here /= command[1]
        elif command[:3] == ["gh", "repo", "fork"]:
            call(["git", "init", "--quiet", command[3].partition("/")[2]], here)
            shutil.copy(committed("quickstart"), here)
        elif command[0] in LOCAL:
            call(command, here)
        elif command[0] in SNNBENCH:
            words, *files = split(command[1:], ">")
            ended = checkout(*(each for word in words for each in named(word, checkout.folder)))
            no_gpu = page.name == "gpu.md" and "reaches no cuda device" in ended.stderr
            assert ended.exit_code in ENDS or no_gpu, (command, ended.stderr)
            assert "Traceback" not in ended.stderr
            for (file,) in files:
                (checkout.folder / file).parent.mkdir(parents=True, exist_ok=True)
                (checkout.folder / file).write_text(ended.stdout)


def test_a_command_that_fails_is_found(checkout):
    assert checkout("run", "--config", "quickstart.toml").exit_code not in ENDS
    assert checkout("verify", "quickstart.bundle.jsonl").exit_code not in ENDS
    with pytest.raises(subprocess.CalledProcessError):
        call(["cp", "quickstart.bundle.jsonl", "mine"], checkout.folder)


def test_the_skill_comes_with_snnbench_and_names_what_there_is(snnbench):
    text = (ROOT / "bench" / "SKILL.md").read_text("utf-8")
    assert snnbench("init", "--skill").stdout == text
    head = re.match(r"---\nname: snnbench\ndescription: (.+)\n---\n", text)
    assert head and len(head[1]) <= 1024 and len(text.splitlines()) <= 60
    names = {*re.findall(r"`([a-z]+_[a-z_]+)`", text)}
    columns = {metric.name for metric in METRICS}
    of_verdict = {"fastest_of_others", "surely_slower"}
    assert names - columns == {"check_failed", *of_verdict}
    assert {"check_failed"} <= {*STATUSES} and of_verdict <= {*verdict([])}
    codes = re.findall(r"(\d) [a-z]+", re.search(r"Exit codes: (.*)", text)[1])
    assert {*map(int, codes)} <= {*exit_codes.MEANINGS}


def call(command: list[str], folder: Path) -> None:
    """Runs a program in a folder, with the Python of the tests. Raises if it fails."""
    by = {
        f"GIT_{role}_{key}": "a@b.c"
        for role in ("AUTHOR", "COMMITTER")
        for key in ("NAME", "EMAIL")
    }
    words = [sys.executable if word == "python" else word for word in command]
    subprocess.run(words, cwd=folder, env={**os.environ, **by}, check=True, capture_output=True)


def named(word: str, folder: Path) -> list[str]:
    """Returns the files of a pattern, as a shell does."""
    files = sorted(folder.glob(word)) if "*" in word and "=" not in word else []
    return [str(file.relative_to(folder)) for file in files] or [word]
