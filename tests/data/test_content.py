"""The content of recordings: the same in another folder, another after any change."""

import os
import shutil

import pytest
from support.recordings import data_case, made

from snnbench.common.mistakes import ConfigError
from snnbench.data.content import content_of

CASES = {name: data_case("frames", "packed", dataset=name, samples=3) for name in ("shd", "nmnist")}


@pytest.mark.parametrize("name", CASES)
def test_a_copy_has_the_same_content_and_other_recordings_have_another(tmp_path, name):
    folder, case = made(tmp_path / "a", name, 4), CASES[name]
    content = content_of(case, folder)
    assert content.startswith("sha256:") and len(content) == 7 + 64
    shutil.copytree(folder, tmp_path / "copy")
    assert content_of(case, tmp_path / "copy") == content
    assert content_of(case, made(tmp_path / "b", name, 4, seed=2)) != content


def test_a_file_that_is_replaced_is_read_again(tmp_path):
    folder, case = made(tmp_path, "nmnist", 4), CASES["nmnist"]
    before = content_of(case, folder)
    first, *_, unread = sorted(folder.rglob("*.bin"), key=lambda path: path.name)
    unread.write_bytes(unread.read_bytes() + bytes(5))
    assert content_of(case, folder) == before, "the fourth is not read"
    other = first.read_bytes()[::-1]
    first.unlink()
    first.write_bytes(other)
    os.utime(first, ns=(1, 1))
    assert content_of(case, folder) != before


def test_the_class_of_a_recording_counts(tmp_path):
    folder, case = made(tmp_path, "nmnist", 4), CASES["nmnist"]
    before = content_of(case, folder)
    (first,) = folder.rglob("00000.bin")
    other = first.parents[1] / str((int(first.parent.name) + 1) % 10)
    other.mkdir(exist_ok=True)
    first.rename(other / first.name)
    assert content_of(case, folder) != before


def test_synthetic_recordings_are_what_they_are_made_from():
    case = data_case("frames", "packed")
    assert content_of(case, None) == f"generator 1, seed {case.seed}"


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"shd_train\.h5: cannot be read: No such file or"):
        content_of(CASES["shd"], tmp_path)
