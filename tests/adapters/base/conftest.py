"""Compilers for tests: their caches, tracing without generating code, and short chunks."""

import functools
import tempfile

import pytest


@pytest.fixture(scope="module")
def compiler_caches(tmp_path_factory):
    """Caches of our own, for all tests of a file; and torch need not try whether this compiler
    knows this CPU."""
    import torch
    from torch._inductor import config as inductor

    # torch's own patch: pytest's leaves its settings deleted
    with (
        pytest.MonkeyPatch.context() as patch,
        inductor.patch({"cpp.vec_isa_ok": True, "compile_threads": 1}),
    ):
        folder = str(tmp_path_factory.mktemp("compiled"))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield
        torch._dynamo.reset()


@pytest.fixture
def traced_only(monkeypatch):
    """Torch traces, cuts and differentiates as ever, but runs the pieces without generating
    code: that takes long."""
    import torch

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))


@pytest.fixture
def short_chunks(monkeypatch):
    """Unrolling is slow."""
    from snnbench.adapters.base import torch_compile

    monkeypatch.setattr(torch_compile, "LONGEST_WHOLE", 5)
    monkeypatch.setattr(torch_compile, "CHUNK", 3)
