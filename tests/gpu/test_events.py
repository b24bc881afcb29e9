"""Packed frames on a GPU. All tests are skipped where there is none."""

import pytest
import torch
from support.counts import counts_of, dense, hostile, moved

from snnbench.kernels.events import PackedFrames

DEVICE, BACKENDS = "cuda", ("reference", "triton")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 97, 100, 700])
@pytest.mark.parametrize("steps", [37, 250])
def test_the_counts_of_the_frames_moved_or_not(steps, channels, backend):
    frames = hostile(5, steps, channels)
    kept, chosen = PackedFrames(frames, steps).to(DEVICE), torch.tensor([4, 2, 0, 1, 2, 3])
    expected = dense(frames, steps)[chosen]
    assert torch.equal(kept.batch(chosen.to(DEVICE), backend=backend).cpu(), expected)
    for shift in (
        torch.tensor([0, 1, 5, -3, -1, 7]),
        torch.tensor([channels, -channels, 1, 0, 2**31 - 1, -channels + 1]),
    ):
        actual = kept.batch(chosen.to(DEVICE), shift.to(DEVICE), backend=backend)
        assert torch.equal(actual.cpu(), moved(expected, shift))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_short_formats(dtype):
    frames = counts_of(40, 250, 100)
    kept, chosen = PackedFrames(frames, 250).to(DEVICE), torch.arange(39, -1, -1)
    assert torch.equal(
        kept.batch(chosen.to(DEVICE), dtype=dtype, backend="triton").cpu(),
        dense(frames, 250)[chosen].to(dtype),
    )


def test_large_batches_repeat_to_the_bit():
    frames = counts_of(128, 250, 100)
    kept, order = (
        PackedFrames(frames, 250).to(DEVICE),
        torch.randperm(128, generator=torch.Generator().manual_seed(1)),
    )
    expected = dense(frames, 250)[order]
    for _ in range(20):
        assert torch.equal(kept.batch(order.to(DEVICE)).cpu(), expected)


def test_the_host_does_not_wait_and_a_graph_replays_with_others_chosen():
    frames = counts_of(9, 37, 97)
    kept = PackedFrames(frames, 37).to(DEVICE)
    chosen, shift = (
        torch.tensor([3, 8, 0], device=DEVICE),
        torch.tensor([2, 0, -5], dtype=torch.int32, device=DEVICE),
    )
    kept.batch(chosen, shift)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        kept.batch(chosen, shift)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = kept.batch(chosen, shift)
    others, places = torch.tensor([1, 1, 7]), torch.tensor([-1, 4, 0])
    chosen.copy_(others)
    shift.copy_(places)
    graph.replay()
    assert torch.equal(captured.cpu(), moved(dense(frames, 37)[others], places))


def test_a_recording_that_there_is_not_becomes_nan():
    batch = (
        PackedFrames([torch.ones(2, 5)] * 3, 3)
        .to(DEVICE)
        .batch(torch.tensor([2, 3, -1], device=DEVICE), backend="triton")
    )
    assert (
        batch.isnan().flatten(1).all(1).tolist() == [False, True, True]
        and not batch[0].isnan().any()
    )
