"""The Triton kernels without a GPU: how work is divided, and when the backend is unavailable."""

import pytest
import torch

pytest.importorskip("triton")

from snnbench.kernels.lif import backends
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Forward
from snnbench.kernels.lif.triton import launch as triton_launch
from snnbench.kernels.spec import NEURONS

COUNTS = [1, 100, 4096, 16384, 16385, 50_000, 65_536, 262_144, 10**7]


def test_compiled_kernels_are_refused_on_the_cpu():
    reason = triton_launch.unavailable(torch.device("cpu"), torch.float32)
    assert (
        reason
        == "on the CPU Triton only has an interpreter: set TRITON_INTERPRET=1 before Python starts"
    )
    with pytest.raises(RuntimeError, match="set TRITON_INTERPRET=1"):
        backends.choose("cpu", torch.float32, "triton")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_float64_is_refused(device):
    assert "float32" in triton_launch.unavailable(torch.device(device), torch.float64)


@pytest.mark.parametrize("dtype", triton_launch.DTYPES, ids=str)
def test_cuda_is_supported(dtype):
    assert triton_launch.unavailable(torch.device("cuda"), dtype) is None


def test_other_devices_are_refused():
    assert triton_launch.unavailable(torch.device("mps"), torch.float32) == "it needs a CUDA device"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("element_bytes", [2, 4])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("bits", [False, True])
def test_forward_shape_is_one_that_the_kernel_can_run(count, element_bytes, dense, bits):
    shape = triton_launch.forward_shape(count, element_bytes, dense, bits)
    for number in (shape.block, shape.warps, shape.steps):
        assert number & (number - 1) == 0
    assert shape.block >= 32 * shape.warps
    assert shape.block % 8 == 0
    assert CHECKPOINT_STEPS % shape.steps == 0


@pytest.mark.parametrize("element_bytes", [2, 4])
def test_enough_bytes_are_under_way(element_bytes):
    """At least 2 MiB are in flight, or 32 steps of all sequences if those are fewer bytes."""
    for count in COUNTS:
        shape = triton_launch.forward_shape(count, element_bytes, dense=True, bits=False)
        under_way = count * element_bytes * shape.steps
        assert under_way >= min(2 * 2**20, count * element_bytes * 32)


def test_few_sequences_are_spread_over_many_blocks():
    """4096 sequences: 128 blocks, nearly one for each of 132 multiprocessors."""
    assert triton_launch.forward_shape(4096, 4, dense=True, bits=False).block == 32
    assert triton_launch.backward_shape(4096, dense=True, read_bytes=8, held=1).block == 32


def test_many_sequences_are_read_16_bytes_a_thread():
    assert triton_launch.forward_shape(262_144, 4, dense=True, bits=False).block == 2 * 32 * 4
    assert triton_launch.forward_shape(262_144, 2, dense=True, bits=False).block == 2 * 32 * 8
    assert triton_launch.forward_shape(262_144, 2, dense=False, bits=False).block == 32
    assert triton_launch.forward_shape(262_144, 2, dense=True, bits=True).block == 32


@pytest.mark.parametrize(
    ("count", "dense", "read_bytes", "held", "ahead"),
    [
        (4096, True, 8, 1, True),
        (4096, True, 8, 2, False),
        (4096, True, 4, 2, True),
        (4096, True, 6, 3, False),
        (4096, False, 4, 1, False),
        (262_144, True, 4, 1, False),
    ],
)
def test_backward_loads_ahead_while_there_are_registers(count, dense, read_bytes, held, ahead):
    assert triton_launch.backward_shape(count, dense, read_bytes, held).ahead == ahead


def forward_call(x: torch.Tensor, **other) -> Forward:
    spikes, final_state = torch.empty_like(x), torch.empty(x.shape[1:])
    return Forward(
        **{
            "spec": NEURONS["soft"],
            "currents": x,
            "spikes": spikes,
            "final_state": final_state,
            **other,
        }
    )


def test_multiply_adds_are_never_contracted():
    assert (
        triton_launch.forward_launch(forward_call(torch.empty(4, 2, 3))).arguments[
            "enable_fp_fusion"
        ]
        is False
    )


def test_contiguous_tensors_have_one_dim():
    launch = triton_launch.forward_launch(forward_call(torch.empty(4, 2, 3, 5)))
    assert launch.arguments["sizes"] == (30,)
    assert launch.arguments["currents"][1:] == (30, 1)


def test_bits_are_whole_bytes_of_blocks():
    x = torch.empty(4, 100, 13)
    launch = triton_launch.forward_launch(
        forward_call(x, bits=True, spikes=torch.empty(4, 100, 2, dtype=torch.uint8))
    )
    assert launch.arguments["sizes"] == (100, 13)
    assert launch.blocks == -(-100 * 16 // launch.arguments["BLOCK"])
