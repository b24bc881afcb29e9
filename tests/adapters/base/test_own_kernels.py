"""The calls that `snnbench doctor --kernels` times: each computes, in memory of its own, and
tells its bytes."""

import pytest
import torch

from snnbench.adapters.base import own_kernels as room
from snnbench.adapters.base.own_kernels import own_kernels

STEPS, BATCH, NEURONS = SHAPE = (37, 3, 97)
ROWS, NUMBERS, WEIGHTS = STEPS * BATCH, STEPS * BATCH * NEURONS, NEURONS**2
STATES = 4 * 2 * BATCH * NEURONS
"""Bytes of the checkpoints of 37 steps."""

BYTES = {
    ("lif forward", "fp32"): 8 * NUMBERS + STATES + STATES // 2,
    ("lif forward", "bf16"): 4 * NUMBERS + STATES + STATES // 2,
    ("lif backward", "fp32"): 12 * NUMBERS + STATES,
    ("lif backward", "bf16"): 6 * NUMBERS + STATES,
    ("lif backward", "fp32, split"): 18 * NUMBERS + STATES,
    ("currents", "fp32"): 8 * NUMBERS + 4 * WEIGHTS,
    ("currents", "fp32, split"): 6 * NUMBERS + 6 * WEIGHTS,
    ("currents", "tf32, split"): 6 * NUMBERS + 2 * WEIGHTS,
    ("currents", "bf16"): 4 * NUMBERS + 2 * WEIGHTS,
    ("by weight", "fp32"): 8 * NUMBERS + 4 * WEIGHTS,
    ("by weight", "fp32, split"): 8 * NUMBERS + 4 * WEIGHTS,
    ("by weight", "tf32, split"): 6 * NUMBERS + 4 * WEIGHTS,
    ("by weight", "bf16"): 4 * NUMBERS + 4 * WEIGHTS,
    ("by input", "fp32"): 8 * NUMBERS + 4 * WEIGHTS,
    ("by input", "tf32, split"): 8 * NUMBERS + 2 * WEIGHTS,
    ("by input", "bf16"): 4 * NUMBERS + 2 * WEIGHTS,
}


def kernels(*spellings):
    return list(own_kernels("cpu", [SHAPE], spellings))


def test_every_kernel_is_there_in_every_format():
    assert {(kernel.name, kernel.format) for kernel in kernels("reference")} == BYTES.keys()
    assert len(kernels("cuda", "triton")) == len(BYTES) + 5, "a product is not ours, and there once"
    assert {kernel.shape for kernel in own_kernels("cpu")} == set(room.SHAPES)


@pytest.mark.parametrize(
    "kernel", kernels("reference"), ids=lambda kernel: f"{kernel.name}, {kernel.format}"
)
def test_a_call_computes_and_tells_the_bytes_of_its_arrays(kernel):
    call, nbytes = kernel.prepare()
    assert nbytes == BYTES[kernel.name, kernel.format]
    assert kernel.flops == (0 if "lif" in kernel.name else 2.0 * ROWS * WEIGHTS)
    call()


@pytest.mark.parametrize(
    "name", ["lif forward", "lif backward", "currents", "by weight", "by input"]
)
def test_calls_share_no_memory(name, monkeypatch):
    seen, real = [], room._bytes
    monkeypatch.setattr(room, "_bytes", lambda tensors: real(seen.append([*tensors]) or seen[-1]))
    (kernel,) = [
        kernel for kernel in kernels("reference") if (kernel.name, kernel.format) == (name, "fp32")
    ]
    kernel.prepare(), kernel.prepare()
    one, other = (
        {tensor.data_ptr() for tensor in tensors if tensor is not None} for tensors in seen
    )
    assert one and not one & other


def test_a_forward_gives_spikes(monkeypatch):
    kept = []
    monkeypatch.setattr(
        room, "partial", lambda run, *given: kept.append(given) or (lambda: run(*given))
    )
    call, _ = room._forward("reference", torch.float32, SHAPE, "cpu")
    call()
    assert 0 < kept[-1][0].spikes.mean() < 1


@pytest.mark.parametrize("spelling", ["cuda", "triton"])
def test_where_a_spelling_cannot_run_it_says_why(spelling):
    for kernel in kernels(spelling)[:5]:
        with pytest.raises(RuntimeError, match=r"CUDA device|not installed|interpreter"):
            kernel.prepare()
