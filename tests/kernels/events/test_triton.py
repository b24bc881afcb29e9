"""The Triton kernel without a GPU: where it is unavailable, and how it is launched."""

import pytest
import torch

pytest.importorskip("triton")

from triton.compiler import CompiledKernel

from snnbench.kernels.events import PackedFrames, backends
from snnbench.kernels.events.storage import BatchDelivery
from snnbench.kernels.events.triton import launch


def test_it_needs_a_gpu_or_the_interpreter():
    with pytest.raises(
        RuntimeError, match=r"backend 'triton' cannot run float32 on cpu: .* set TRITON_INTERPRET=1"
    ):
        PackedFrames([torch.zeros(2, 5)], 3).batch(torch.tensor([0]), backend="triton")


@pytest.mark.parametrize("dtype", launch.DTYPES, ids=str)
def test_gpus_are_served_by_triton(dtype):
    assert backends.choose("cuda", dtype) == "triton"


def test_other_types_are_left_to_torch():
    assert (
        launch.unavailable(torch.device("cuda"), torch.uint8)
        == "it delivers float32, float16 or bfloat16"
    )


@pytest.mark.parametrize(("channels", "group"), [(97, 2), (100, 8), (128, 16), (700, 8)])
def test_the_compiler_is_told_how_recordings_lie(channels, group):
    kept = PackedFrames([torch.zeros(1, channels)], 250)
    numbers = launch.numbers(
        BatchDelivery(kept.stored, torch.tensor([0]), None, torch.empty(1, 250 * channels))
    )
    assert numbers == (1, 250 * channels // group, channels, group, launch.ENTRIES)


@pytest.fixture
def launched(request, monkeypatch):
    """What compiled kernels are launched with, where there is no GPU to run them: (kernel, grid,
    arguments)."""
    request.getfixturevalue("driver")
    calls = []

    def load(kernel):
        kernel._run = lambda *args: calls.append((kernel, args[:3], args[9:]))

    monkeypatch.setattr(CompiledKernel, "_init_handles", load)
    monkeypatch.setattr(launch, "_ready", {})
    return calls


def calls_of_all_kinds():
    """Pairs of calls of one kind, no two pairs of the same."""
    room, kept = torch.empty(2 * 185 + 3), PackedFrames([torch.ones(37, 5)] * 3, 37)
    others = PackedFrames([torch.ones(37, 4)] * 3, 37)
    chosen, shift = torch.zeros(9, dtype=torch.int64), torch.zeros(9, dtype=torch.int32)
    for _ in range(2):
        yield BatchDelivery(kept.stored, chosen[:2], None, torch.empty(2, 185))
        yield BatchDelivery(kept.stored, chosen[1:3], None, torch.empty(2, 185))
        yield BatchDelivery(kept.stored, chosen[:2], shift[:2], torch.empty(2, 185))
        yield BatchDelivery(kept.stored, chosen[:2], shift[1:3], torch.empty(2, 185))
        yield BatchDelivery(kept.stored, chosen[:2], None, room[1:371].view(2, 185))
        yield BatchDelivery(
            kept.stored, chosen[:2], None, torch.empty(2, 185, dtype=torch.bfloat16)
        )
        yield BatchDelivery(others.stored, chosen[:2], None, torch.empty(2, 148))
        yield BatchDelivery(
            PackedFrames([torch.ones(37, 5)], 37).stored, chosen[:2], None, torch.empty(2, 185)
        )


@pytest.mark.slow
def test_a_kept_kernel_is_launched_as_triton_would(launched, monkeypatch):
    """The kernel, the grid and the arguments of a call that finds its kernel kept are those of
    Triton's own launch of it."""
    calls = list(calls_of_all_kinds())
    for call in calls:
        launch.deliver(call)
    kept, half = launched.copy(), len(calls) // 2
    assert len(launch._ready) == half
    monkeypatch.setattr(launch, "kind", lambda call: object())
    launched.clear()
    for call in calls:
        launch.deliver(call)
    for call, (kernel, grid, arguments), (wanted, its_grid, its_arguments) in zip(
        calls, kept, launched, strict=True
    ):
        assert kernel is wanted and grid == its_grid == (len(call.chosen) * call.stored.tiles, 1, 1)
        assert len(arguments) == len(its_arguments) == 11
        assert (
            all(a is b for a, b in zip(arguments[:6], its_arguments[:6], strict=True))
            and arguments[6:] == its_arguments[6:]
        )
    assert arguments[5] is calls[-1].out


@pytest.mark.slow
def test_a_kernel_kept_for_too_many_kinds_is_found_out(launched, monkeypatch):
    """If the key left out how tensors lie, a call would run a kernel that was compiled for
    others."""
    monkeypatch.setattr(launch, "kind", lambda call, whole=launch.kind: whole(call)[:-1])
    calls = list(calls_of_all_kinds())
    for call in calls:
        launch.deliver(call)
    kept = [kernel for kernel, _, _ in launched]
    launch._ready.clear()
    monkeypatch.setattr(launch, "kind", lambda call: object())
    launched.clear()
    for call in calls:
        launch.deliver(call)
    assert any(kernel is not wanted for kernel, (wanted, _, _) in zip(kept, launched, strict=True))
