"""Files appear whole or not at all, and a command removes no folder but those that snnbench made."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.trees import tree

from snnbench.common import files
from snnbench.common.files import MARKER, PREFIX, TAG, own_folder, write_atomically


def test_a_file_appears_whole_with_its_folder(tmp_path):
    write_atomically(tmp_path / "new" / "file", "text\n")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
    assert (tmp_path / "new" / "file").read_text() == "text\n"


def test_the_longest_name_that_a_file_can_have_can_be_written(tmp_path):
    write_atomically(tmp_path / (255 * "a"), "text")
    assert (tmp_path / (255 * "a")).read_text() == "text"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else_and_is_told_of_which_file(
    tmp_path, monkeypatch, step
):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left") as error:
        write_atomically(path, "new")
    monkeypatch.undo()
    assert error.value.filename == str(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_text_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            files.os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1]
        )
    write_atomically(tmp_path / "file", "text")
    assert calls == ["fsync", "replace", "fsync"], (
        "the file, its name, and the folder that holds the name"
    )


KILLED = """
import os, signal, sys
from pathlib import Path
from snnbench.common import files
parent, step = Path(sys.argv[1]), sys.argv[2]
def kill(*arguments, **more): os.kill(os.getpid(), signal.SIGKILL)
with files.own_folder(parent) as own:
    (own / "compiled").mkdir()
    (own / "compiled" / "kernel.so").write_text("machine code")
    (own / "home").symlink_to(parent)
    setattr(files.os if hasattr(files.os, step) else files.shutil, step, kill)
    files.write_atomically(parent / "file", "new" * 100_000, own)
"""


@pytest.mark.parametrize("step", ["fsync", "replace", "rmtree"])
def test_a_process_killed_while_writing_leaves_the_old_file_and_the_next_one_removes_the_rest(
    tmp_path, step
):
    write_atomically(tmp_path / "file", "old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), step], timeout=60)
    assert ended.returncode == -9
    assert (tmp_path / "file").read_text() in ("old", "new" * 100_000)
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
    with own_folder(tmp_path) as own:
        assert list(tmp_path.glob(f"{PREFIX}*")) == [own.parent]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_of_a_command_that_lives_stays(tmp_path):
    with own_folder(tmp_path) as first, own_folder(tmp_path) as second:
        assert first.is_dir() and second.is_dir() and first != second
    assert list(tmp_path.iterdir()) == []


def marked(folder: Path) -> Path:
    """A folder as a killed command leaves it."""
    folder.mkdir(parents=True)
    (folder / MARKER).write_text(TAG)
    (folder / "thesis.txt").write_text("mine")
    return folder


FOREIGN = {
    "a user's folder of such a name": lambda left, elsewhere: (
        shutil.copytree(elsewhere, left),
        (left / MARKER).unlink(),
    ),
    "another program's marker": lambda left, elsewhere: (marked(left) / MARKER).write_text(
        "Signature: 8a477f597d28d172789f06886806bc55"
    ),
    "a link to a folder of ours": lambda left, elsewhere: left.symlink_to(elsewhere),
    "a marker that is a link": lambda left, elsewhere: (
        left.mkdir(),
        (left / MARKER).symlink_to(elsewhere / MARKER),
    ),
    "a file": lambda left, elsewhere: left.write_text("mine"),
    "a marker that is a folder": lambda left, elsewhere: (left / MARKER).mkdir(parents=True),
    "a marker that is a pipe": lambda left, elsewhere: (left.mkdir(), os.mkfifo(left / MARKER)),
    "a link to nowhere": lambda left, elsewhere: left.symlink_to(elsewhere / "nowhere"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_not_known_as_ours_stays(tmp_path, kind):
    parent, elsewhere = tmp_path / "parent", marked(tmp_path / "elsewhere")
    parent.mkdir()
    FOREIGN[kind](parent / f"{PREFIX}left", elsewhere)
    before = tree(tmp_path)
    with own_folder(parent):
        pass
    assert tree(tmp_path) == before


def test_a_folder_of_ours_is_removed_and_what_its_links_lead_to_stays(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    left = marked(tmp_path / "parent" / f"{PREFIX}left")
    (left / "link").symlink_to(mine)
    with own_folder(tmp_path / "parent"):
        pass
    assert not left.exists() and tree(mine) == {"thesis.txt": b"mine"}


@pytest.mark.parametrize("said", ["", TAG[:30]])
def test_one_that_was_killed_while_it_wrote_its_marker_is_removed(tmp_path, said):
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / "lock").touch()
    (left / MARKER).write_text(said)
    with own_folder(tmp_path):
        assert not left.exists()


def test_of_another_user_nothing_is_removed(tmp_path, monkeypatch):
    left = marked(tmp_path / f"{PREFIX}left")
    monkeypatch.setattr(files.os, "getuid", lambda: 12345)
    with own_folder(tmp_path):
        pass
    assert left.exists()
