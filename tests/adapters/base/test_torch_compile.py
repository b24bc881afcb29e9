"""Mode compile: the compiled network is proved like any other, and chunks are joined without a
seam."""

import re

import numpy as np
import pytest
import torch
from support.expected import HERE, adapter_of, case_of
from support.networks import WIDEST, network_of
from support.paths import ROOT
from support.proofs import judged, loaded, refusal_of
from support.slow import one_of_each, representatives

from snnbench.adapters import TorchAdapter
from snnbench.adapters.base import torch_adapter, torch_compile
from snnbench.adapters.base.torch_compile import CHUNK, LONGEST_WHOLE
from snnbench.adapters.registry import load
from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.case import Case
from snnbench.core.variant import COMPILE_MODES
from snnbench.kernels.spec import NEURONS
from snnbench.proof.limits import limits_of
from snnbench.proof.steps import judge_steps
from snnbench.proof.time_axis import time_axis

pytestmark = pytest.mark.usefixtures("compiler_caches")

TINY = {"mode": "compile", "time_steps": 3, "batch": 2, "neurons": 13}
CHUNKED = TINY | {"time_steps": 7}
"""With `short_chunks`: 3, 3 and 1 steps, as 61 steps are 20, 20, 20 and 1."""
COMPILED = [(name, *pair) for name, entry in HERE.items() for pair in entry["compiles"].items()]


def spikes_and_gradients(adapter, case):
    program, problem, verdict = judged(adapter, case)
    assert verdict.passed, verdict.findings
    result = program.forward(program.put_input(problem.input))
    gradients = program.gradients(
        program.backward(result, program.put_upstream(problem.upstream, result))
    )
    return program.spikes(result)["neuron1"], [
        *gradients.parameters["linear1"].values(),
        gradients.input,
    ]


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "neuron"),
    [
        pytest.param(name, neuron, marks=pytest.mark.slow)
        for name, construction, neuron in COMPILED
        if construction == "default"
    ],
)
def test_a_framework_compiled_is_the_same_network(name, neuron):
    program, _, verdict = judged(adapter_of(name), case_of(name, neuron, **TINY))
    assert verdict.passed, verdict.findings
    assert set(verdict.errors) == {"weight", "bias", "input"}
    facts = program.compile_facts()
    assert facts["compile_s"] > 0
    assert (facts["graph_breaks"] > 0) == HERE[name].get("breaks", False)


@pytest.mark.slow
@pytest.mark.frameworks
def test_code_is_generated_for_chunks_and_for_a_stepwise_network(short_chunks):
    program, _, verdict = judged(TorchLoop(), Case("torch", "stepwise", **CHUNKED))
    assert verdict.passed, verdict.findings
    assert program.compile_facts()["recompiles"] == 0, (
        "lengths and states that are known to differ are no surprise"
    )


@pytest.mark.parametrize("construction", representatives(["default", "stepwise"], [0]))
@pytest.mark.parametrize("name", representatives(["torch", "norse", "sinabs", "spikingjelly"], [0]))
def test_chunks_have_no_seam(traced_only, short_chunks, name, construction):
    adapter = adapter_of(name)
    case = Case(name, construction, **CHUNKED)
    spikes, gradients = spikes_and_gradients(adapter, case)
    whole, expected = spikes_and_gradients(
        adapter, Case(name, construction, **CHUNKED | {"mode": "eager"})
    )
    assert np.array_equal(spikes, whole)
    for gradient, wanted in zip(gradients, expected, strict=True):
        assert np.allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.frameworks
@pytest.mark.parametrize("optimizer", representatives(["sgd", "adam"], [1]))
def test_loss_and_optimizer_are_compiled_too_and_three_steps_are_those_of_float64(
    traced_only, optimizer
):
    sizes = {
        "neurons": 13,
        "image": 5,
        "classes": 7,
        "layers": None,
        "bias": None,
        "time_steps": 3,
        "batch": 4,
    }
    case = Case(
        "torch",
        mode="compile",
        workload="mnist-mlp",
        neuron=WIDEST,
        loss="cross-entropy",
        optimizer=optimizer,
        **sizes,
    )
    program, problem = loaded(TorchLoop(), case)
    verdict = judge_steps(program, problem, limits_of(case, network_of(case)))
    assert verdict.passed, verdict.findings
    assert program.compile_facts()["compile_s"] > 0


@pytest.mark.parametrize("neuron", representatives(NEURONS, [0, 4]))
def test_every_neuron_is_compiled(traced_only, neuron):
    _, _, verdict = judged(
        TorchLoop(), Case("torch", neuron=NEURONS[neuron], **TINY | {"time_steps": 9})
    )
    assert verdict.passed, verdict.findings


@pytest.mark.parametrize("page", ["adapter", "maintainers"])
def test_the_file_adapter_of_a_page_is_compiled(traced_only, tmp_path, page):
    """Torch looks globals of the file up by the name of its module."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    code = next(
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Mine(" in code
    )
    (tmp_path / "my-adapter.py").write_text(code, encoding="utf-8")
    adapter = load(f"{tmp_path / 'my-adapter.py'}:Mine")
    _, _, verdict = judged(adapter, Case("mine", **TINY))
    assert verdict.passed, verdict.findings


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "construction", "neuron"), one_of_each(COMPILED, {"rockpool", "sinabs", "norse"})
)
def test_every_construction_is_traced(traced_only, name, construction, neuron):
    _, _, verdict = judged(adapter_of(name), case_of(f"{name}:{construction}", neuron, **TINY))
    assert verdict.passed, verdict.findings


def test_torch_s_own_modes_reach_torch(monkeypatch):
    """They run on CUDA devices only; what torch is told can be heard without one."""
    modes = []
    monkeypatch.setattr(torch_compile, "set_up", lambda device: None)
    monkeypatch.setattr(
        torch, "compile", lambda function, **options: (modes.append(options["mode"]), function)[1]
    )
    steps = []
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: steps.append(None))
    for mode in COMPILE_MODES:
        case = Case("torch", **TINY | {"mode": mode})
        program = torch_compile.CompiledProgram(TorchLoop(), case, network_of(case))
        x = program.put_input(np.zeros((3, 2, 13), np.float32))
        result = program.forward(x)
        program.backward(result, program.put_upstream(np.ones((3, 2, 13), np.float32), result))
        program.inference(x)
    assert list(dict.fromkeys(modes)) == ["default", "reduce-overhead", "max-autotune"]
    assert len(steps) == 2 * 2, (
        "a forward and an inference of each, but none between forward and backward"
    )


@pytest.mark.parametrize("mode", ["compile-reduce-overhead", "compile-max-autotune"])
def test_torch_s_own_modes_are_for_cuda(mode, monkeypatch):
    assert (
        refusal_of(TorchLoop(), Case("torch", mode=mode))
        == f"mode {mode} is for CUDA devices; on a CPU there is compile"
    )
    monkeypatch.setattr(torch_adapter, "find_spec", lambda name: None)
    lacking = f"mode {mode} needs Triton on a CUDA device, and it is not installed"
    assert refusal_of(TorchLoop(), Case("torch", mode=mode, device="cuda")) == lacking


@pytest.mark.slow
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
            loop.scan = lambda currents, state: (
                lengths.append(len(currents)),
                scan(currents, state),
            )[1]
            return loop

    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    for steps in (LONGEST_WHOLE, LONGEST_WHOLE + 1):
        adapter, case = Listening(), Case("torch", **CHUNKED | {"time_steps": steps})
        program = adapter.program(case, network_of(case))
        program.inference(program.put_input(np.zeros((steps, 2, 13), np.float32)))
    assert lengths == [LONGEST_WHOLE, CHUNK, CHUNK, LONGEST_WHOLE + 1 - 2 * CHUNK]


@pytest.mark.parametrize("layers", [1, 3])
def test_a_short_network_is_compiled_in_one_piece(monkeypatch, layers):
    compiled = []
    monkeypatch.setattr(
        torch, "compile", lambda function, **options: (compiled.append(function), function)[1]
    )
    case = Case("torch", layers=layers, **TINY)
    program = TorchLoop().program(case, network_of(case))
    compiled.clear()
    program.forward(program.put_input(np.zeros((3, 2, 13), np.float32)))
    assert len(compiled) == 1


def test_a_compiled_network_is_the_one_of_the_contract(traced_only):
    """Its norms follow running statistics, a shortcut passes by, and what stands last is no
    neuron."""
    case = Case("torch", workload="contract", mode="compile", time_steps=5, batch=3)
    program, _, verdict = judged(TorchLoop(), case)
    assert verdict.passed, verdict.findings
    assert program.compile_facts()["graph_breaks"] == 0


@pytest.mark.parametrize("workload", representatives(["linear-lif", "lif"], [1]))
def test_layers_and_workloads_are_compiled(traced_only, workload):
    case = Case(
        "torch",
        workload=workload,
        bias=False,
        layers=1 if workload == "lif" else 3,
        **TINY | {"time_steps": 9},
    )
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
    assert list(program.compiled.compiled) == [(7, True, True)]
