"""For tests of C++ kernels: processors with other instruction sets."""

import pytest
from support.slow import representatives

from snnbench.kernels.build import cpp


@pytest.fixture(params=representatives(["haswell", "x86-64-v2"], [1]))
def compile_for_other_processor(request, monkeypatch):
    """Returns a function from which on kernels are compiled for another x86 processor; what is
    compiled already must be forgotten apart."""
    if "-march=native" not in cpp.FLAGS or "avx2" not in cpp.identity()[1]:
        pytest.skip("no x86 processor that computes with AVX2: it runs neither instruction set")
    flags = tuple(flag.replace("native", request.param) for flag in cpp.FLAGS)
    return lambda: monkeypatch.setattr(cpp, "FLAGS", flags)
