"""Mode compile: what goes wrong at the border of chunks is rejected, and what a compiler
complains of is the reason."""

import numpy as np
import pytest
import torch
from support.networks import network_of
from support.proofs import judged, refusal_of
from support.slow import representatives
from torch._inductor import config as inductor

from snnbench.adapters import TimeLoop
from snnbench.adapters.base import torch_compile
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.case import Case
from snnbench.core.contract import BuildFailed

pytestmark = pytest.mark.usefixtures("compiler_caches")

TINY = {"mode": "compile", "time_steps": 3, "batch": 2, "neurons": 13}
CHUNKED = TINY | {"time_steps": 7}


def at_the_border(fault):
    class Faulty(TorchLoop):
        def neuron(self, spec, features):
            right = super().neuron(spec, features)

            class Loop(TimeLoop):
                def scan(self, currents, state):
                    spikes, state = right.scan(currents, state)
                    return spikes, fault(state)

            return Loop()

    return Faulty()


@pytest.mark.parametrize(
    "fault",
    representatives(
        [lambda v: None, lambda v: v.detach(), lambda v: 0.99 * v, lambda v: v.roll(1, 0)], [1]
    ),
    ids=["forgotten", "without its gradient", "leaking once more", "of another batch item"],
)
def test_a_state_that_goes_wrong_at_the_border_is_rejected(traced_only, short_chunks, fault):
    assert not judged(at_the_border(fault), Case("torch", **CHUNKED))[2].passed
    assert judged(at_the_border(fault), Case("torch", **TINY))[2].passed, "there is no border"


def test_the_same_adapter_without_the_fault_is_right(traced_only, short_chunks):
    assert judged(at_the_border(lambda v: v), Case("torch", **CHUNKED))[2].passed


def test_what_the_compiler_complains_of_is_the_reason():
    torch._dynamo.reset()
    with (
        inductor.patch({"cpp.cxx": (None, "false")}),
        pytest.raises(BuildFailed, match=r"torch\.compile: "),
    ):
        judged(TorchLoop(), Case("torch", **TINY | {"neurons": 11}))


def test_torch_never_falls_back_to_eager_unheard(traced_only, monkeypatch):
    """What is different at each call would be compiled up to a limit, and from then on not."""
    monkeypatch.setattr(torch_compile, "MOST_VARIANTS", 4)

    class Restless(TorchLoop):
        def neuron(self, spec, features):
            right, count = super().neuron(spec, features), [0]

            class Loop(TimeLoop):
                def step(self, current, state):
                    return right.step(current, state)

                def forward(self, currents):
                    count[0] += 1
                    return super().forward(currents * (1 if count[0] >= 0 else 0))

            return Loop()

    adapter, case = Restless(), Case("torch", **TINY | {"time_steps": 1})
    program = adapter.program(case, network_of(case))
    x = program.put_input(np.zeros((1, 2, 13), np.float32))
    for _ in range(4):
        program.inference(x)
    assert program.compile_facts()["recompiles"] == 3
    with pytest.raises(BuildFailed, match="more than 4 variants of one function"):
        program.inference(x)


def test_without_a_compiler_the_mode_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    case = Case("torch", mode="compile")
    reason = refusal_of(TorchLoop(), case)
    assert (
        reason
        == "mode compile needs a C++ compiler on a CPU, and no-such-compiler (set CXX for another) is not here"
    )
    assert refusal_of(TorchLoop(), Case("torch")) is None


def test_the_first_error_is_the_compiler_s_own_line():
    line = "x.cpp:1:10: fatal error: Python.h: No such file"
    assert (
        torch_compile.first_error(
            f"CppCompileError: C++ compile error\n\nCommand:\ng++ -O3 x.cpp\n\nOutput:\n{line}\nmore"
        )
        == line
    )
    assert torch_compile.first_error("only this\nand that") == "only this"


def test_without_pythons_headers_the_mode_is_refused_in_one_sentence(monkeypatch, tmp_path):
    header = tmp_path / "Python.h"
    monkeypatch.setattr("snnbench.adapters.base.torch_adapter.PYTHON_HEADER", header)
    case = Case("torch", mode="compile")
    assert refusal_of(TorchLoop(), case) == (
        f"mode compile needs Python's headers on a CPU, and there is no {header}"
    )
    header.touch()
    assert refusal_of(TorchLoop(), case) is None
