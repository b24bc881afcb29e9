"""A disk that gets full while recordings or caches are written: one sentence, and nothing half made
is left.

The kernel refuses to write beyond a size of a file, as it refuses on a full disk.
"""

import errno
import importlib
import os

import pytest
from support.limits import small_files
from support.recordings import data_case, made

from snnbench.adapters import registry
from snnbench.common.mistakes import ConfigError
from snnbench.data import full_disk
from snnbench.data.reading import explained_faults


def test_while_a_cache_is_built(tmp_path):
    """HDF5, in which tonic caches, crashes its process later: the command line shows that,
    tests/end_to_end."""
    case, folder, cache = (
        data_case("frames", "memmap", time_steps=250),
        made(tmp_path / "ssc", "ssc", 9),
        tmp_path / "cache",
    )
    cache.mkdir()
    with pytest.raises(ConfigError) as raised, small_files(4000), explained_faults(case, folder):
        registry.load(registry.LOADING["frames"]).strategy(case, folder, cache).build()
    words = "File too large: what frames:memmap keeps is written where the run's scratch is"
    assert str(raised.value).startswith(words) and list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["ssc", "nmnist", "dvsgesture"])
def test_while_recordings_are_made(tmp_path, name):
    with pytest.raises(OSError, match="File too large") as raised, small_files(3000):
        made(tmp_path, name, 1)
    assert raised.value.filename == str(
        tmp_path / {"ssc": "SSC", "nmnist": "NMNIST", "dvsgesture": "DVSGesture"}[name]
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", full_disk.FULL)
def test_what_hdf5_says_is_told_as_what_the_system_said(number):
    words = f"Can't synchronously write data (file write failed: errno = {number}, error message = '{os.strerror(number)}')"
    for error in (OSError(words), RuntimeError(words), OSError(number, words)):
        assert full_disk.cause_of(error).errno == number
    assert (
        full_disk.cause_of(OSError(errno.ENOENT, "nothing")) is None
        and full_disk.cause_of(KeyError("labels")) is None
    )


def test_no_part_of_a_compiled_module_is_kept(tmp_path, monkeypatch):
    (tmp_path / "long.py").write_text(f"text = {'x' * 5000!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with small_files(4000):
        importlib.import_module("long")
    assert not list(tmp_path.glob("__pycache__/*"))
