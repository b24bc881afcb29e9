"""Launches of the CUDA kernels without a GPU: through cuda-core and a stub of the driver, and
what keeps them from running."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from support import cuda_emulation
from support.paths import TESTS

from snnbench.kernels.build import nvrtc
from snnbench.kernels.lif import backends
from snnbench.kernels.lif.triton import launch as triton_launch

HERE = TESTS / "kernels" / "lif"
COMPILER = shutil.which("cc")
needs_cuda_core = pytest.mark.skipif(
    find_spec("cuda") is None or find_spec("cuda.core") is None, reason="needs cuda-core"
)


@pytest.mark.slow
@needs_cuda_core
@pytest.mark.skipif(not (COMPILER and cuda_emulation.COMPILER), reason="needs cc and g++")
def test_launches_end_to_end(tmp_path):
    """In a process of its own, which finds the stub as its libcuda."""
    stub = tmp_path / "libcuda.so.1"
    source = TESTS / "support" / "cuda_driver.c"
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", f"-Wl,-soname,{stub.name}", source, "-o", stub, "-ldl"],
        check=True,
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        HERE / "driven.py",
    ]
    done = subprocess.run(
        command, env={**kept, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.fixture
def forgetful():
    """Reasons are asked for again, before and after the test."""
    remembered = (nvrtc.unavailable, triton_launch.no_launcher, backends.unavailable)
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


@pytest.fixture
def gpu(monkeypatch, forgetful):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))


def chosen(reason: str) -> str:
    with pytest.warns(UserWarning, match=reason):
        return backends.choose("cuda", torch.float32)


def test_cuda_comes_first_and_triton_where_it_cannot_run(gpu, monkeypatch):
    monkeypatch.setattr(nvrtc, "unavailable", lambda: None)
    assert backends.choose("cuda", torch.float32) == "cuda"
    backends.unavailable.cache_clear()
    monkeypatch.setattr(nvrtc, "unavailable", lambda: "no NVRTC here")
    monkeypatch.setattr(triton_launch, "no_launcher", lambda: None)
    assert chosen("runs as triton: no NVRTC here") == "triton"
    backends.unavailable.cache_clear()
    monkeypatch.setattr(triton_launch, "no_launcher", lambda: "no compiler here")
    assert chosen("runs as plain torch: no NVRTC here; no compiler here") == "reference"
    assert backends.choose("cuda", torch.float64) == "reference"


@needs_cuda_core
def test_a_cuda_core_of_another_version_or_a_compiler_that_fails_is_a_reason(
    forgetful, monkeypatch
):
    import cuda.core

    class Broken:
        def __init__(self, *_):
            raise ValueError("out of luck\nand more")

    monkeypatch.setattr(nvrtc, "version", lambda: "13.0")
    monkeypatch.setattr(cuda.core, "Program", Broken)
    assert nvrtc.unavailable() == "NVRTC does not compile: out of luck"
    nvrtc.unavailable.cache_clear()
    monkeypatch.setattr(cuda.core, "Stream", SimpleNamespace())
    assert "another version" in nvrtc.unavailable() and "from_handle" in nvrtc.unavailable()
    nvrtc.unavailable.cache_clear()
    monkeypatch.delattr(cuda.core, "ObjectCode")
    assert "another version" in nvrtc.unavailable() and "ObjectCode" in nvrtc.unavailable()


def test_triton_without_a_c_compiler_or_pythons_headers_says_so(forgetful, tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no C compiler" in triton_launch.unavailable(
        torch.device("cuda"), torch.float32
    )
    triton_launch.no_launcher.cache_clear()
    monkeypatch.setenv("CC", str(tmp_path / "missing"))
    assert "No such file" in triton_launch.no_launcher()
    triton_launch.no_launcher.cache_clear()
    monkeypatch.setenv("CC", COMPILER or "cc")
    monkeypatch.setattr(triton_launch.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert "Python.h" in triton_launch.no_launcher()
