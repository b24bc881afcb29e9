"""Faults planted in the CUDA kernels' source, and contraction by the compiler, are noticed by
the emulation's checks."""

import pytest
import torch
from support import cuda_emulation
from support.cuda_checks import (
    check_backward,
    check_forward,
    check_parts,
    currents,
    forward_call,
    upstream,
)
from support.slow import one_of_each

from snnbench.kernels.build import nvrtc
from snnbench.kernels.lif import reference
from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.spec import NeuronSpec

pytestmark = pytest.mark.skipif(cuda_emulation.COMPILER is None, reason="needs g++")


def test_contraction_is_noticed():
    """A planted fault: fused multiply-adds round differently, so potentials differ."""
    call, expected = (
        forward_call(NeuronSpec(decay=0.9), currents(60, 4, 8)),
        forward_call(NeuronSpec(decay=0.9), currents(60, 4, 8)),
    )
    reference.forward(expected)
    work = launch.prepare(call)
    cuda_emulation.library(work.program, ("-ffp-contract=fast", "-O2", "-mfma"))(work)
    assert not torch.equal(call.trace, expected.trace)


FORWARD_FAULTS = [
    ("++j, currents_at += currents_step)", "++j, currents_at += currents_last)"),
    ("if (j < rest) {", "if (j <= rest) {"),
    ("s[i] = lif_spike(neuron, v[i])", "s[i] = lif_spike(neuron, p[i])"),
    ("if (t % LIF_CHUNK == 0)", "if (t % LIF_CHUNK == 1)"),
]
BACKWARD_FAULTS = [
    ("is_step ? decay * e : gp[i]", "is_step ? e : gp[i]"),
    ("gp[i] = is_step ? decay * e : gp[i]", "gp[i] = decay * e"),
    ("is_step ? errors[i] + e : errors[i]", "errors[i] + e"),
    ("checkpoints_at -= checkpoints_step;", ""),
    ("now = next;", ""),
]


PARTS_FAULTS = [
    ("rest = rest - second;", ""),
    ("place, parts[k]", "place, parts[0]"),
    ("k * next_part", "k * 0"),
    ("finite ? x - first : 0.0f", "x - first"),
    ("x > largest ? largest :", ""),
    ("x < -largest ? -largest :", ""),
]


def check_split_parts(*_):
    check_parts(True)


@pytest.mark.parametrize(
    "check, fault",
    one_of_each(
        [(check_forward, f) for f in FORWARD_FAULTS]
        + [(check_backward, f) for f in BACKWARD_FAULTS]
        + [(check_split_parts, f) for f in PARTS_FAULTS]
    ),
)
def test_planted_faults_are_noticed(check, fault, monkeypatch):
    right, wrong = fault
    source = nvrtc.CudaProgram.source
    planted = []

    def faulty(program):
        planted.append(right in source(program))
        return source(program).replace(right, wrong)

    monkeypatch.setattr(nvrtc.CudaProgram, "source", faulty)
    monkeypatch.setattr(cuda_emulation, "library", cuda_emulation.library.__wrapped__)
    x = currents(102, 3, 5)
    with pytest.raises(
        AssertionError,
        match=r"spikes|checkpoints|trace|grad_currents|sum_error|part|written beside",
    ):
        check(
            NeuronSpec(),
            x,
            **(
                {"grad_spikes": upstream(x), "grad_final": upstream(x[0])}
                if check is check_backward
                else {}
            ),
        )
    assert planted and all(planted)
