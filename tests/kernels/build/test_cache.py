"""The cache folder of compiled kernels."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from snnbench.kernels.build import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("SNNBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "snnbench" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "snnbench" / "kernels"
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path / "own"))
    assert cache.cache_folder() == tmp_path / "own"


def test_built_once_and_given_its_suffix(folder):
    built = []

    def build(path: Path) -> None:
        built.append(path)
        path.write_text("content")

    path = cache.cached("key", ".so", build)
    assert path == cache.cached("key", ".so", build) == folder / "key.so"
    assert path.read_text() == "content" and len(built) == 1
    assert built[0] != path and built[0].parent == folder and built[0].suffix == ".so"
    assert sorted(path.name for path in folder.iterdir()) == ["key.so", "key.so.sha256"]


def test_nothing_is_kept_of_a_failed_build(folder):
    def fail(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.cached("key", ".so", fail)
    assert list(folder.iterdir()) == []


def test_a_damaged_file_is_built_again(folder):
    path = cache.cached("key", ".so", lambda path: path.write_text("content"))
    path.write_text("cont")
    assert (
        cache.cached("key", ".so", lambda path: path.write_text("content")).read_text() == "content"
    )


def test_a_compiler_may_replace_the_file_that_it_is_given(folder):
    def replacing(path: Path) -> None:
        path.unlink()
        path.write_text("content")

    assert cache.cached("key", ".so", replacing).read_text() == "content"


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path / "file" / "below"))
    path = cache.cached("key", ".so", lambda path: path.write_text("content"))
    assert path.read_text() == "content" and tmp_path not in path.parents
    assert cache.cached("key", ".so", lambda path: pytest.fail("built again")) == path


def test_a_read_only_folder_still_serves_what_it_has(folder, monkeypatch):
    path = cache.cached("key", ".so", lambda path: path.write_text("content"))
    monkeypatch.setattr(cache, "_writable", lambda folder: False)
    assert cache.cached("key", ".so", lambda path: pytest.fail("built again")) == path
    other = cache.cached("other", ".so", lambda path: path.write_text("content"))
    assert other.parent != folder == path.parent


PROGRAM = textwrap.dedent("""
    import importlib.util, sys, time
    # alone: importing the package imports torch
    spec = importlib.util.spec_from_file_location("cache", sys.argv[2])
    cache = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cache)
    def build(path):
        with path.open("w") as file:
            for i in range(50):
                file.write("0123456789"); file.flush(); time.sleep(float(sys.argv[1]))
    print(cache.cached("key", ".so", build).read_text() == "0123456789" * 50)
""")


def start(seconds: float) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seconds), cache.__file__],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_at_the_same_time(folder):
    processes = [start(0.002) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["True\n"] * 3
    assert sorted(path.name for path in folder.iterdir()) == ["key.so", "key.so.sha256"]


def test_a_killed_process_leaves_nothing_that_is_read(folder):
    process = start(10)
    deadline = time.monotonic() + 60
    while not folder.exists() or not any(path.stat().st_size for path in folder.iterdir()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert cache.cached("key", ".so", lambda path: path.write_text("whole")).read_text() == "whole"
