"""Packed frames: exact counts come back in any order, compiled and in torch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from snnbench.kernels.events import PackedFrames, packed


def counts_of(recordings, steps, *features, most=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, steps + 1, (recordings,), generator=generator)
    return [torch.poisson(torch.full((int(t), *features), most / 10), generator=generator).to(torch.int16) for t in lengths]


def dense(frames, steps):
    whole = torch.zeros(len(frames), steps, *frames[0].shape[1:])
    for row, each in zip(whole, frames, strict=True):
        row[: len(each)] = each
    return whole


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 21), st.sampled_from([1, 5, 4000]), st.integers(0, 99))
def test_every_batch_has_the_counts_of_the_frames(recordings, steps, channels, most, seed):
    frames = counts_of(recordings, steps, channels, most=most, seed=seed)
    kept = PackedFrames(frames, steps)
    chosen = torch.randint(0, recordings, (5,), generator=torch.Generator().manual_seed(seed))
    expected = dense(frames, steps)[chosen]
    assert torch.equal(kept.batch(chosen), expected)
    assert torch.equal(kept.batch(chosen, torch.float64), expected.double())


def test_far_bins_and_high_counts_take_several_entries():
    frames = torch.zeros(1, 70_000, dtype=torch.int64)
    places, counts = [0, 1, 255, 510, 1021, 33_000, 69_999], [2, 256, 257, 511, 512, 1, 600]
    frames[0, places] = torch.tensor(counts)
    kept = PackedFrames([frames] * 3, 1)
    for dtype in (torch.float32, torch.float64):
        assert torch.equal(kept.batch(torch.tensor([2, 0]), dtype)[0], frames.to(dtype))


def test_threads_and_no_compiler_give_the_same(monkeypatch):
    frames = counts_of(40, 250, 97)
    kept, chosen = PackedFrames(frames, 250), torch.arange(39, -1, -1)
    one = kept.batch(chosen)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(kept.batch(chosen), one)
    monkeypatch.setattr(packed.cpp, "unusable", lambda: "no compiler")
    assert torch.equal(kept.batch(chosen), one) and torch.equal(one, dense(frames, 250)[chosen])


def test_an_empty_batch_and_silent_recordings():
    kept = PackedFrames([torch.zeros(3, 2, 5), torch.zeros(0, 2, 5)], 4)
    assert kept.batch(torch.tensor([], dtype=torch.int64)).shape == (0, 4, 2, 5)
    assert not kept.batch(torch.tensor([1, 0])).any() and len(kept) == 2


def test_what_it_takes_is_a_bit_a_bin_and_two_bytes_an_entry():
    frames = counts_of(50, 250, 100, most=3)
    kept = PackedFrames(frames, 250)
    entries = sum(int((each > 1).sum()) for each in frames)
    for_ways = kept.bytes - (50 * 3125 + 2 * entries + 8 * 51)
    assert 0 <= for_ways <= 0.01 * kept.bytes, "few bins are further apart than 255"


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "no frames"),
        ([torch.zeros(2, 5), torch.zeros(2, 4)], r"recording 1 has frames of shape \(2, 4\): at most \(3, 5\)"),
        ([torch.zeros(4, 5)], r"recording 0 has frames of shape \(4, 5\)"),
        ([torch.full((2, 5), 0.5)], "recording 0 are no counts"),
        ([torch.full((2, 5), -1)], "recording 0 are no counts"),
        ([torch.full((2, 5), float("nan"))], "recording 0 are no counts"),
    ],
)
def test_what_are_no_frames_is_refused(frames, words):
    with pytest.raises(ValueError, match=words):
        PackedFrames(frames, 3)


def test_a_recording_that_there_is_not_is_refused():
    kept = PackedFrames([torch.zeros(2, 5)], 3)
    for chosen in ([1], [-1], [0, 7]):
        with pytest.raises(IndexError, match="there are 1 recordings"):
            kept.batch(torch.tensor(chosen))
