"""Compiling C++ kernels: what is cached, what the cache depends on, and the errors where
compiling fails."""

import subprocess
import sys

import pytest
import torch

from snnbench.kernels.build import cpp
from snnbench.kernels.lif import backends
from snnbench.kernels.lif.cpu import launch as cpp_launch

ANSWER = 'extern "C" int answer() { return 41 + ONE; }\n'


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache folder, and empty caches in memory, before and after the test."""
    remembered = (cpp.compiler, cpp.unusable, cpp.library, backends.unavailable)

    def forget():
        cpp_launch._plan.cache_clear()
        for function in remembered:
            function.cache_clear()

    forget()
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    forget()


def test_a_library_is_built_once_and_again_when_anything_changes(fresh, monkeypatch):
    runs, real = [], subprocess.run
    monkeypatch.setattr(cpp.subprocess, "run", lambda *a, **k: (runs.append(a), real(*a, **k))[1])
    assert cpp.library(ANSWER, ("-DONE=1",)).answer() == 42
    cpp.library.cache_clear()
    assert cpp.library(ANSWER, ("-DONE=1",)).answer() == 42
    assert len(runs) == 1 and len(list(fresh.glob("*.so"))) == 1
    assert cpp.library(ANSWER, ("-DONE=2",)).answer() == 43
    cpp.library(ANSWER + "\n", ("-DONE=1",))
    monkeypatch.setattr(cpp, "_cpu", lambda: "another")
    cpp.library.cache_clear()
    cpp.library(ANSWER, ("-DONE=1",))
    assert len(runs) == 4 and len(list(fresh.glob("*.so"))) == 4


@pytest.mark.parametrize("left", [0, 1000])
def test_a_library_that_a_crash_cut_short_is_built_again(fresh, left):
    cpp.library(ANSWER, ("-DONE=1",))
    (library_file,) = fresh.glob("*.so")
    whole = library_file.read_bytes()
    cpp.library.cache_clear()
    library_file.unlink()  # a loaded library stays in memory; a file of its name is another one
    library_file.write_bytes(whole[:left])
    assert cpp.library(ANSWER, ("-DONE=1",)).answer() == 42
    assert len(library_file.read_bytes()) == len(whole)


def test_without_a_compiler_the_reference_runs_and_cpp_says_why(fresh, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.warns(UserWarning, match="runs as plain torch: there is no"):
        assert backends.choose("cpu", torch.float32) == "reference"
    with pytest.raises(
        RuntimeError,
        match=r"there is no C\+\+ compiler \(c\+\+, g\+\+ or clang\+\+ in PATH; set CXX\)",
    ):
        backends.choose("cpu", torch.float32, "cpp")


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("a note\\nerror: out of luck", "error: out of luck"),
        ("collect2: error: ld returned 1\\nld: No space left on device", "ld: No space left"),
        ("gone", "gone"),
        ("", "no message"),
    ],
)
def test_a_compiler_that_fails_is_quoted(fresh, tmp_path, monkeypatch, said, quoted):
    broken = tmp_path / "broken"
    broken.write_text(f"#!/bin/sh\nprintf '{said}' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", f"{broken} --with words")
    with pytest.warns(UserWarning, match=quoted):
        assert backends.choose("cpu", torch.float32) == "reference"
    with pytest.raises(RuntimeError, match=f"broken failed with status 3: {quoted}"):
        backends.choose("cpu", torch.float32, "cpp")
    assert not list(fresh.iterdir())


def test_products_and_sums_are_not_contracted(fresh, monkeypatch):
    """A multiply-add rounds once where the reference rounds twice, so a comparison of bits must
    fail."""
    x = 0.4 * torch.randn(67, 3, 97, generator=torch.Generator().manual_seed(0)) + 0.1

    def traces_differ():
        from snnbench.kernels.lif import lif

        return not torch.equal(
            lif(x, trace=True, backend="cpp").trace, lif(x, trace=True, backend="reference").trace
        )

    assert not traces_differ()
    contracted = tuple(flag.replace("contract=off", "contract=fast") for flag in cpp.FLAGS)
    monkeypatch.setattr(cpp, "FLAGS", (*contracted, "-mfma"))
    cpp_launch._plan.cache_clear()
    cpp.library.cache_clear()
    assert traces_differ()


def test_threads_come_from_one_openmp_runtime():
    code = (
        "import torch, re, pathlib; from snnbench.kernels.lif import lif; torch.set_num_threads(2);"
        "lif(torch.zeros(4, 64, 64), backend='cpp');"
        "maps = pathlib.Path('/proc/self/maps').read_text();"
        r"print(len(set(re.findall(r'/\S*lib(?:gomp|iomp5|omp)[^/\s]*\.so\S*', maps))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
