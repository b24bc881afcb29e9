"""For tests of C++ kernels: processors with other instruction sets, and planted faults."""

import pytest
from support.compiled import forget
from support.slow import marked_slow

from snnbench.kernels.build import cpp


@pytest.fixture
def compiled_anew():
    forget()
    yield
    forget()


@pytest.fixture(params=[marked_slow("haswell"), marked_slow("x86-64-v2")])
def compile_for_other_processor(request, monkeypatch, compiled_anew):
    """Returns a function from which on kernels are compiled for another x86 processor."""
    if "-march=native" not in cpp.FLAGS or "avx2" not in cpp.identity()[1]:
        pytest.skip("no x86 processor that computes with AVX2: it runs neither instruction set")
    flags = tuple(flag.replace("native", request.param) for flag in cpp.FLAGS)

    def compile_so():
        monkeypatch.setattr(cpp, "FLAGS", flags)
        forget()

    return compile_so


@pytest.fixture
def plant(monkeypatch):
    """Returns a function that plants a fault in the sources that `module` compiles from now on:
    `wrong` in place of `right`, which must stand in `file`, if given."""

    def planted(module, right, wrong, file=None):
        real = module.inlined

        def faulty(path):
            assert right in real(path) or path.name != file
            return real(path).replace(right, wrong)

        monkeypatch.setattr(module, "inlined", faulty)

    return planted
