"""Mode compile: the compiled network is proved like any other, chunks are joined without a seam, and failures are named."""

import functools
import os
import sys
import tempfile

import numpy as np
import pytest
import torch
from torch._inductor import config as inductor

from snnbench.adapters import TorchAdapter, registry
from snnbench.adapters.base import torch_adapter, torch_compile
from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import BuildFailed
from snnbench.adapters.base.modes import COMPILE_MODES
from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.base.torch_compile import CHUNK, LONGEST_WHOLE
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof.problem import calibrate, generate
from snnbench.proof.stages import judge_program, limits_of
from snnbench.proof.time_axis import time_axis

TINY = {"mode": "compile", "time_steps": 3, "batch": 2, "neurons": 13}
CHUNKED = TINY | {"time_steps": 7}
"""With `short_chunks`: 3, 3 and 1 steps, as 61 steps are 20, 20, 20 and 1."""
FRAMEWORKS = {"torch": "hard", "snntorch": "soft", "norse": "soft", "sinabs": "hard", "rockpool": "soft", "spikingjelly": "hard"}


@pytest.fixture(autouse=True, scope="module")
def surroundings(tmp_path_factory):
    """Caches of our own, kept for all tests of this file; and torch need not try whether this compiler knows this CPU."""
    # torch's own patch: pytest's leaves its settings deleted
    with pytest.MonkeyPatch.context() as patch, inductor.patch({"cpp.vec_isa_ok": True, "compile_threads": 1}):
        folder = str(tmp_path_factory.mktemp("compiled"))
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        patch.setitem(sys.modules, "samna", None)
        patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
        yield
        torch._dynamo.reset()


@pytest.fixture
def traced_only(monkeypatch):
    """Torch traces, cuts and differentiates as ever, but runs the pieces without generating code: that takes long."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))


@pytest.fixture
def short_chunks(monkeypatch):
    """Unrolling is slow."""
    monkeypatch.setattr(torch_compile, "LONGEST_WHOLE", 5)
    monkeypatch.setattr(torch_compile, "CHUNK", 3)


def judged(adapter, case):
    """The program of `case` and the verdict on its second call."""
    assert adapter.refuses(case) is None
    adapter.prepare(case, 1)
    problem = generate(case, calibrate(case))
    program = adapter.program(case)
    program.load(problem.weights, problem.biases)
    return program, problem, judge_program(program, problem, limits_of(case), sleep=lambda _: None)


def spikes_and_gradients(adapter, case):
    program, problem, verdict = judged(adapter, case)
    assert verdict.passed, verdict.findings
    result = program.forward(program.put_input(problem.input))
    gradients = program.gradients(program.backward(result, program.put_upstream(problem.upstream, result)))
    return program.spikes(result)[-1], [*gradients.weights, *gradients.biases, gradients.input]


# -- the same network -------------------------------------------------------------------------------------------


@pytest.mark.frameworks
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_compiled_is_the_same_network(name):
    case = Case(name, neuron=NEURONS[FRAMEWORKS[name]], **TINY)
    program, _, verdict = judged(registry.load(registry.BUILT_IN[name]), case)
    assert verdict.passed, verdict.findings
    assert set(verdict.errors) == {"weight", "bias", "input"}
    facts = program.compile_facts()
    assert facts["compile_s"] > 0
    assert (facts["graph_breaks"] > 0) == (name == "sinabs")


@pytest.mark.frameworks
def test_code_is_generated_for_chunks_and_for_a_stepwise_network(short_chunks):
    program, _, verdict = judged(TorchLoop(), Case("torch", "stepwise", **CHUNKED))
    assert verdict.passed, verdict.findings
    assert program.compile_facts()["recompiles"] == 0, "lengths and states that are known to differ are no surprise"


@pytest.mark.parametrize("construction", ["default", "stepwise"])
@pytest.mark.parametrize("name", ["torch", "norse", "sinabs", "spikingjelly"])
def test_chunks_have_no_seam(traced_only, short_chunks, name, construction):
    adapter = registry.load(registry.BUILT_IN[name])
    case = Case(name, construction, **CHUNKED)
    spikes, gradients = spikes_and_gradients(adapter, case)
    whole, expected = spikes_and_gradients(adapter, Case(name, construction, **CHUNKED | {"mode": "eager"}))
    assert np.array_equal(spikes, whole)
    for gradient, wanted in zip(gradients, expected, strict=True):
        assert np.allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("neuron", NEURONS)
def test_every_neuron_is_compiled(traced_only, neuron):
    _, _, verdict = judged(TorchLoop(), Case("torch", neuron=NEURONS[neuron], **TINY | {"time_steps": 9}))
    assert verdict.passed, verdict.findings


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "construction", "neuron"),
    [
        ("snntorch", "state-leaky", NEURONS["none"]),
        ("snntorch", "linear-leaky", NEURONS["none"]),
        ("norse", "lif-box-cell", NEURONS["hard"]),
        ("norse", "lif", NeuronSpec("hard")),
        ("sinabs", "alphas", NEURONS["soft-undecayed"]),
        ("rockpool", "lif-torch", NEURONS["soft"]),
        ("rockpool", "lif-torch-without-recurrence", NEURONS["soft"]),
        ("spikingjelly", "single-step", NEURONS["hard"]),
        ("spikingjelly", "parametric", NEURONS["soft"]),
        ("spikingjelly", "sliding-psn", NEURONS["none"]),
    ],
)
def test_other_constructions_are_compiled(traced_only, name, construction, neuron):
    case = Case(name, construction, neuron=neuron, **TINY)
    _, _, verdict = judged(registry.load(registry.BUILT_IN[name]), case)
    assert verdict.passed, verdict.findings


def test_torch_s_own_modes_reach_torch(monkeypatch):
    """They run on CUDA devices only; what torch is told can be heard without one."""
    told = []
    monkeypatch.setattr(torch, "compile", lambda function, **options: (told.append(options["mode"]), function)[1])
    steps = []
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: steps.append(None))
    for mode in COMPILE_MODES:
        case = Case("torch", **TINY | {"mode": mode})
        program = torch_compile.CompiledProgram(TorchLoop(), case)
        x = program.put_input(np.zeros((3, 2, 13), np.float32))
        result = program.forward(x)
        program.backward(result, program.put_upstream(np.ones((3, 2, 13), np.float32), result))
        program.inference(x)
    assert list(dict.fromkeys(told)) == ["default", "reduce-overhead", "max-autotune"]
    assert len(steps) == 2 * 2, "a forward and an inference of each, but none between forward and backward"


@pytest.mark.parametrize("mode", ["compile-reduce-overhead", "compile-max-autotune"])
def test_torch_s_own_modes_are_for_cuda(mode, monkeypatch):
    assert TorchLoop().refuses(Case("torch", mode=mode)) == f"mode {mode} is for CUDA devices; on a CPU there is compile"
    monkeypatch.setattr(torch_adapter, "find_spec", lambda name: None)
    lacking = f"mode {mode} needs Triton on a CUDA device, and it is not installed"
    assert TorchLoop().refuses(Case("torch", mode=mode, device="cuda")) == lacking


def test_nor_have_they_at_their_real_length(traced_only):
    program, _, verdict = judged(TorchLoop(), Case("torch", **TINY | {"time_steps": 61}))
    assert verdict.passed, verdict.findings
    assert program.compile_facts()["recompiles"] == 0


def test_time_is_cut_only_above_fifty_steps(monkeypatch):
    lengths = []

    class Listening(TorchLoop):
        def neuron(self, spec, features):
            loop = super().neuron(spec, features)
            scan = loop.scan
            loop.scan = lambda currents, state: (lengths.append(len(currents)), scan(currents, state))[1]
            return loop

    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    for steps in (LONGEST_WHOLE, LONGEST_WHOLE + 1):
        adapter, case = Listening(), Case("torch", **CHUNKED | {"time_steps": steps})
        program = adapter.program(case)
        program.inference(program.put_input(np.zeros((steps, 2, 13), np.float32)))
    assert lengths == [LONGEST_WHOLE, CHUNK, CHUNK, LONGEST_WHOLE + 1 - 2 * CHUNK]


@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
def test_layers_and_workloads_are_compiled(traced_only, workload):
    case = Case("torch", workload=workload, bias=False, layers=1 if workload == "lif" else 3, **TINY | {"time_steps": 9})
    program, problem, verdict = judged(TorchLoop(), case)
    assert verdict.passed, verdict.findings
    assert time_axis(program, problem).findings == []
    assert program.compile_facts()["recompiles"] == 0


def test_what_has_no_loop_in_python_is_compiled_whole_however_long(traced_only, short_chunks):
    class Whole(TorchAdapter):
        name = "whole"

        def neuron(self, spec, features):
            right = TorchLoop().neuron(spec, features)

            class Neuron(torch.nn.Module):
                def forward(self, currents):
                    return right.scan(currents, None)[0]

            return Neuron()

    program, _, verdict = judged(Whole(), Case("whole", **CHUNKED))
    assert verdict.passed, verdict.findings
    (call,) = program.calls
    assert [kind for kind in call.compiled] == [(7, True)]


# -- faults -----------------------------------------------------------------------------------------------------


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
    [lambda v: None, lambda v: v.detach(), lambda v: 0.99 * v, lambda v: v.roll(1, 0)],
    ids=["forgotten", "without its gradient", "leaking once more", "of another batch item"],
)
def test_a_state_that_goes_wrong_at_the_border_is_rejected(traced_only, short_chunks, fault):
    assert not judged(at_the_border(fault), Case("torch", **CHUNKED))[2].passed
    assert judged(at_the_border(fault), Case("torch", **TINY))[2].passed, "there is no border"


def test_the_same_adapter_without_the_fault_is_right(traced_only, short_chunks):
    assert judged(at_the_border(lambda v: v), Case("torch", **CHUNKED))[2].passed


def test_what_the_compiler_complains_of_is_the_reason():
    torch._dynamo.reset()
    with inductor.patch({"cpp.cxx": (None, "false")}), pytest.raises(BuildFailed, match=r"torch\.compile: "):
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
    program = adapter.program(case)
    x = program.put_input(np.zeros((1, 2, 13), np.float32))
    for _ in range(4):
        program.inference(x)
    assert program.compile_facts()["recompiles"] == 3
    with pytest.raises(BuildFailed, match="more than 4 variants of one function"):
        program.inference(x)


def test_without_a_compiler_the_mode_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    case = Case("torch", mode="compile")
    reason = TorchLoop().refuses(case)
    assert reason == "mode compile needs a C++ compiler on a CPU, and no-such-compiler (set CXX for another) is not here"
    assert TorchLoop().refuses(Case("torch")) is None


def test_the_complaint_is_the_compiler_s_own_line():
    line = "x.cpp:1:10: fatal error: Python.h: No such file"
    assert (
        torch_compile.complaint(f"CppCompileError: C++ compile error\n\nCommand:\ng++ -O3 x.cpp\n\nOutput:\n{line}\nmore") == line
    )
    assert torch_compile.complaint("only this\nand that") == "only this"
