"""Packed frames: exact counts come back in any order, moved or not, from every backend that CPUs
have."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.counts import counts_of, dense, hostile, moved

from snnbench.kernels.build import cpp
from snnbench.kernels.events import PackedFrames, backends

BACKENDS = ("cpp", "reference")


@given(
    st.integers(1, 9),
    st.integers(1, 12),
    st.integers(1, 21),
    st.sampled_from([1, 5, 4000]),
    st.integers(0, 99),
)
def test_every_batch_has_the_counts_of_the_frames(recordings, steps, channels, most, seed):
    frames = counts_of(recordings, steps, channels, most=most, seed=seed)
    kept, generator = PackedFrames(frames, steps), torch.Generator().manual_seed(seed)
    chosen = torch.randint(0, recordings, (5,), generator=generator)
    shift = torch.randint(-channels, channels + 1, (5,), generator=generator)
    expected = dense(frames, steps)[chosen]
    for backend in BACKENDS:
        assert torch.equal(kept.batch(chosen, backend=backend), expected)
        assert torch.equal(kept.batch(chosen, shift, backend=backend), moved(expected, shift))
    assert torch.equal(
        kept.batch(chosen, shift, dtype=torch.float64), moved(expected, shift).double()
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("steps", "channels"), [(37, 1), (37, 97), (250, 100), (250, 700)])
def test_every_count_and_the_ends_of_tiles(steps, channels, backend):
    frames = hostile(5, steps, channels)
    kept, chosen, shift = (
        PackedFrames(frames, steps),
        torch.tensor([4, 2, 0, 1, 2]),
        torch.tensor([0, 1, 5, -3, -1]),
    )
    expected = dense(frames, steps)[chosen]
    assert torch.equal(kept.batch(chosen, backend=backend), expected)
    assert torch.equal(kept.batch(chosen, shift, backend=backend), moved(expected, shift))


def test_high_counts_take_several_entries():
    frames = torch.zeros(1, 70_000, dtype=torch.int64)
    places, counts = [0, 1, 255, 510, 1021, 33_000, 69_999], [2, 256, 257, 511, 512, 1, 600]
    frames[0, places] = torch.tensor(counts)
    kept = PackedFrames([frames] * 3, 1)
    assert len(kept.stored.entries) == 3 * sum(-(-(count - 1) // 32) for count in counts)
    for backend in BACKENDS:
        assert torch.equal(kept.batch(torch.tensor([2, 0]), backend=backend)[0], frames.float())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shift", [5, -5, 6, -6, 2**31 - 1, -(2**31)])
def test_a_shift_by_all_channels_or_more_leaves_zeros(shift, backend):
    kept = PackedFrames([torch.ones(3, 2, 5)], 4)
    assert not kept.batch(torch.tensor([0]), torch.tensor([shift]), backend=backend).any()


def test_shifts_stay_in_their_rows_of_the_last_feature():
    frames = torch.arange(30).view(3, 2, 5)
    batch = PackedFrames([frames], 3).batch(torch.tensor([0, 0]), torch.tensor([2, -2]))
    assert batch[0, 1, 1].tolist() == [0, 0, 15, 16, 17] and batch[1, 1, 1].tolist() == [
        17,
        18,
        19,
        0,
        0,
    ]


def test_threads_give_the_same(monkeypatch):
    frames = counts_of(40, 250, 97)
    kept, chosen, shift = PackedFrames(frames, 250), torch.arange(39, -1, -1), torch.arange(40) - 20
    one = kept.batch(chosen, shift)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(kept.batch(chosen, shift), one) and torch.equal(
        one, moved(dense(frames, 250)[chosen], shift)
    )


def test_without_a_compiler_torch_delivers_and_it_is_said(monkeypatch):
    kept = PackedFrames(counts_of(3, 7, 5), 7)
    expected = kept.batch(torch.tensor([2, 0]))
    monkeypatch.setattr(cpp, "unusable", lambda: "no compiler")
    backends.unavailable.cache_clear()
    try:
        with pytest.warns(
            UserWarning, match="packed frames are delivered as plain torch: no compiler"
        ):
            assert torch.equal(kept.batch(torch.tensor([2, 0])), expected)
        with pytest.raises(
            RuntimeError, match="backend 'cpp' cannot run float32 on cpu: no compiler"
        ):
            kept.batch(torch.tensor([2, 0]), backend="cpp")
    finally:
        backends.unavailable.cache_clear()


def test_backends_that_cannot_run_say_why():
    kept = PackedFrames([torch.zeros(2, 5)], 3)
    with pytest.raises(ValueError, match="backend = 'numba' is not one of reference, cpp, triton"):
        kept.batch(torch.tensor([0]), backend="numba")
    with pytest.raises(
        RuntimeError, match="backend 'cpp' cannot run bfloat16 on cpu: it delivers float32"
    ):
        kept.batch(torch.tensor([0]), dtype=torch.bfloat16, backend="cpp")
    assert backends.choose("cpu", torch.float32) == "cpp"
    assert (
        backends.choose("cpu", torch.uint8) == backends.choose("cuda", torch.uint8) == "reference"
    )


def test_an_empty_batch_and_silent_recordings():
    kept = PackedFrames([torch.zeros(3, 2, 5), torch.zeros(0, 2, 5)], 4)
    assert kept.batch(torch.tensor([], dtype=torch.int64)).shape == (0, 4, 2, 5)
    assert not kept.batch(torch.tensor([1, 0])).any() and len(kept) == 2
    assert PackedFrames([torch.zeros(3, 0)], 4).batch(
        torch.tensor([0]), torch.tensor([1])
    ).shape == (1, 4, 0)


def test_what_it_takes_is_a_bit_a_bin_two_bytes_an_entry_and_eight_a_tile():
    frames = counts_of(50, 250, 100, most=3)
    kept = PackedFrames(frames, 250)
    entries = sum(int((each > 1).sum()) for each in frames)
    assert kept.bytes == kept.to("cpu").bytes == 50 * 3125 + 2 * entries + 8 * (50 * 13 + 1)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "no frames"),
        (
            [torch.zeros(2, 5), torch.zeros(2, 4)],
            r"recording 1 has frames of shape \(2, 4\): at most \(3, 5\)",
        ),
        ([torch.zeros(4, 5)], r"recording 0 has frames of shape \(4, 5\)"),
        ([torch.full((2, 5), 0.5)], "recording 0 are no counts"),
        ([torch.full((2, 5), -1)], "recording 0 are no counts"),
        ([torch.full((2, 5), float("nan"))], "recording 0 are no counts"),
        ([torch.zeros(0, 2**30)], "has 3221225472 bins: at most 2147479552 can be packed"),
    ],
)
def test_what_are_no_frames_is_refused(frames, words):
    with pytest.raises(ValueError, match=words):
        PackedFrames(frames, 3)


def test_a_recording_that_there_is_not_and_shifts_of_another_shape_are_refused():
    kept = PackedFrames([torch.zeros(2, 5)], 3)
    for chosen in ([1], [-1], [0, 7]):
        with pytest.raises(IndexError, match="there are 1 recordings"):
            kept.batch(torch.tensor(chosen))
    with pytest.raises(
        ValueError, match=r"shift has the shape \(1,\): one for each of 2 recordings"
    ):
        kept.batch(torch.tensor([0, 0]), torch.tensor([1]))
