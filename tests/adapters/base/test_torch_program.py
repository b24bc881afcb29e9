"""The torch program apart from a framework."""

import pytest
from support.expected import adapter_of, case_of
from support.networks import network_of
from support.proofs import loaded

from snnbench.measure.phases import Phases
from snnbench.proof.stages import with_statistics


def test_running_statistics_come_back_after_an_exception():
    """A CUDA graph holds the buffers."""
    case = case_of("torch", workload="contract", time_steps=5, batch=3)
    program = adapter_of("torch").program(case, network_of(case))
    norm = program.network.norms()["norm1"]
    with pytest.raises(ZeroDivisionError), program.unchanged_statistics():
        norm.running_mean += 1
        raise ZeroDivisionError
    assert norm.running_mean is program.running_stats["norm1"]["mean"]
    assert not norm.running_mean.any()


def test_a_timed_inference_finds_its_mode_set(monkeypatch):
    """Switching many modules takes time."""
    case = case_of("torch", workload="contract", time_steps=5, batch=3)
    program, problem = loaded(adapter_of("torch"), case)
    problem = with_statistics(problem)
    x = program.put_input(problem.input)
    inputs, upstream = [x, x], program.put_upstream(problem.upstream, program.forward(x))
    phases = Phases(program, inputs, upstream, 5, problem.statistics)
    modules = [program.network, *program.network.norms().values()]
    for name in ("inference", "forward", "step"):
        phase = phases.by_name[name]
        state = phase.prepare(0)
        assert {module.training for module in modules} == {name != "inference"}
        with monkeypatch.context() as patch:
            patch.setattr(program.network, "train", None)
            phase.call(state)
