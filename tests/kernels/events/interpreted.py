"""The Triton kernel against torch's operations in Triton's interpreter:
tests/kernels/test_interpreted.py runs this file."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.counts import counts_of, dense, hostile, moved
from support.slow import representatives

from snnbench.kernels.events import PackedFrames, backends
from snnbench.kernels.events.storage import BatchDelivery
from snnbench.kernels.events.triton import launch

assert launch.unavailable(torch.device("cpu"), torch.float32) is None, "run with TRITON_INTERPRET=1"

SIZES = [(steps, channels) for steps in (37, 250) for channels in (1, 97, 100, 700)]


def check(
    kept: PackedFrames, chosen: torch.Tensor, shift: torch.Tensor | None, expected: torch.Tensor
) -> None:
    """Triton's bits and the reference's are those of `expected`."""
    for backend in ("reference", "triton"):
        assert torch.equal(kept.batch(chosen, shift, backend=backend), expected)


@pytest.mark.parametrize(("steps", "channels"), representatives(SIZES, quick=(0, 1)))
def test_every_count_and_the_ends_of_tiles(steps, channels):
    frames = hostile(4, steps, channels)
    kept = PackedFrames(frames, steps)
    for chosen in (torch.tensor([2, 0, 3]), torch.tensor([1, 2, 2])):
        expected = dense(frames, steps)[chosen]
        check(kept, chosen, None, expected)
        for shift in (torch.tensor([1, 0, -1]), torch.tensor([-channels, 3, channels])):
            check(kept, chosen, shift, moved(expected, shift))


def test_more_entries_than_are_added_at_once():
    """Every bin of two tiles and a bit has events beyond one, and those of one bin are in two
    pieces of its list."""
    frames = torch.full((1, 1, 4100), 2)
    frames[0, 0, 127], frames[0, 0, 2048] = 10_000, 8_200
    kept, chosen = PackedFrames(frames, 1), torch.tensor([0])
    assert len(kept.stored.entries) > 4 * launch.ENTRIES
    check(kept, chosen, None, frames.float())
    check(kept, chosen, torch.tensor([-1]), moved(frames.float(), torch.tensor([-1])))


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 40),
    st.integers(1, 150),
    st.sampled_from([1, 5, 1000]),
    st.integers(0, 99),
)
def test_every_batch_has_the_counts_of_the_frames(recordings, steps, channels, most, seed):
    frames = counts_of(recordings, steps, channels, most=most, seed=seed)
    kept, generator = PackedFrames(frames, steps), torch.Generator().manual_seed(seed)
    chosen = torch.randint(0, recordings, (2,), generator=generator)
    shift = torch.randint(-channels, channels + 1, (2,), generator=generator)
    expected = dense(frames, steps)[chosen]
    check(kept, chosen, None, expected)
    check(kept, chosen, shift, moved(expected, shift))


@pytest.mark.parametrize("dtype", launch.DTYPES, ids=str)
def test_short_formats(dtype):
    """A count that they do not hold is rounded once."""
    frames = torch.tensor([[[0, 1, 2, 255, 256, 300, 2049, 4000]]])
    batch = PackedFrames(frames, 3).batch(torch.tensor([0]), dtype=dtype, backend="triton")
    assert torch.equal(batch, dense(frames, 3).to(dtype))


@pytest.mark.parametrize("shift", [5, -5, 6, -6, 2**31 - 1, -(2**31)])
def test_a_shift_by_all_channels_or_more_leaves_zeros(shift):
    kept = PackedFrames([torch.full((3, 2, 5), 3)], 4)
    assert not kept.batch(torch.tensor([0]), torch.tensor([shift]), backend="triton").any()


def test_a_recording_that_there_is_not_becomes_nan_and_nothing_else_does():
    kept = PackedFrames([torch.ones(2, 5)] * 3, 3)
    for shift in (None, torch.zeros(4, dtype=torch.int32)):
        out = torch.full((4, 15), -1.0)
        launch.deliver(BatchDelivery(kept.stored, torch.tensor([2, 3, 0, -1]), shift, out))
        assert (
            out.isnan().all(1).tolist() == out.isnan().any(1).tolist() == [False, True, False, True]
        )


def test_it_is_one_launch_and_writes_nothing_beyond_its_batch(monkeypatch):
    launched = []

    class Recorded:
        def __getitem__(self, grid, kernel=launch.deliver_kernel):
            launched.append(grid)
            return kernel[grid]

    monkeypatch.setattr(launch, "deliver_kernel", Recorded())
    frames = counts_of(3, 37, 97)
    kept, chosen = PackedFrames(frames, 37), torch.tensor([1, 2])
    room = torch.full((4, 37 * 97), -1.0)
    launch.deliver(BatchDelivery(kept.stored, chosen, None, room[1:3]))
    assert launched == [(2 * 2, 1, 1)]
    assert torch.equal(room[1:3].view(2, 37, 97), dense(frames, 37)[chosen])
    assert (room[0] == -1).all() and (room[3] == -1).all()


def test_a_wrong_list_is_found():
    """Entries of neighbouring tiles that are swapped, and an event more, change what is
    delivered."""
    frames = hostile(4, 37, 100)
    kept, chosen = PackedFrames(frames, 37), torch.tensor([2])
    expected = dense(frames, 37)[chosen]
    for wrong in (kept.stored.entries + 1, kept.stored.entries + 32, kept.stored.entries.flip(0)):
        entries, kept.stored.entries[:] = kept.stored.entries.clone(), wrong
        assert not torch.equal(kept.batch(chosen, backend="triton"), expected)
        kept.stored.entries[:] = entries
    check(kept, chosen, None, expected)


def test_cpus_are_served_by_cpp_unless_asked_otherwise():
    assert backends.choose("cpu", torch.float32) == "cpp"
