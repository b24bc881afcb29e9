"""Files appear whole or not at all."""

import errno
import os

import pytest

from snnbench import files
from snnbench.files import write_atomically


def test_a_file_appears_whole_with_its_folder(tmp_path):
    write_atomically(tmp_path / "new" / "file", "text\n")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
    assert (tmp_path / "new" / "file").read_text() == "text\n"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_text_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(files.os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1])
    write_atomically(tmp_path / "file", "text")
    assert calls == ["fsync", "replace", "fsync"], "the file, its name, and the folder that holds the name"
