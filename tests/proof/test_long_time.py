"""Recurrent layers over thousands of steps are judged at their full length."""

import pytest
import torch
from support.expected import adapter_of, case_of
from support.proofs import judged
from support.slow import marked_slow

from snnbench.adapters.torch_loop import TorchLoop

FRAMEWORKS = ("fused", "fused:linear-recompute", "jax", "torch", "spyx")
LENGTHS = (2_000, 5_000, 16_000)


@pytest.mark.parametrize(
    ("name", "neuron", "steps"),
    [
        (name, neuron, steps)
        if (name, neuron, steps) == ("fused:linear-recompute", "hard", 2_000)
        else marked_slow(name, neuron, steps)
        for steps in LENGTHS
        for name in FRAMEWORKS
        for neuron in ("soft", "hard", "none")
    ],
)
def test_spikes_and_gradients_are_right_over_thousands_of_steps(name, neuron, steps):
    sizes = {"time_steps": steps, "batch": 3, "neurons": 31, "input_grad": True}
    case = case_of(name, neuron, workload="recurrent-lif", **sizes)
    _, problem, verdict = judged(adapter_of(name), case)
    assert len(problem.input) == steps
    assert verdict.passed, verdict.findings


@pytest.mark.slow
def test_a_gradient_that_is_cut_after_many_steps_is_seen():
    class Cut(TorchLoop):
        def recurrent(self, spec, neurons, construction):
            return CutModule(super().recurrent(spec, neurons, construction))

    class CutModule(torch.nn.Module):
        def __init__(self, loop):
            super().__init__()
            self.loop = loop

        def forward(self, currents):
            first, (spikes, v) = self.loop.scan(currents[:1_500], None)
            rest, _ = self.loop.scan(currents[1_500:], (spikes.detach(), v.detach()))
            return torch.cat([first, rest])

    sizes = {"time_steps": 2_000, "batch": 3, "neurons": 31, "input_grad": True}
    case = case_of("torch", "soft", workload="recurrent-lif", **sizes)
    verdict = judged(Cut(), case)[2]
    assert not verdict.passed
    assert judged(adapter_of("torch"), case)[2].passed
