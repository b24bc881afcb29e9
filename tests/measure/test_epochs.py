"""Epochs of a case that delivers data: every recording once, another order at each call, and a
batch that cannot be guessed."""

from support.recordings import data_case

from snnbench.data.epoch import LARGEST_SHIFT, Epoch
from snnbench.measure.epochs import Epochs, batches_of, epoch_of, watched_by
from snnbench.measure.phases import draw_of

CASE = data_case("frames", "uint8", samples=97, batch=5)


def delivered(epoch):
    """Batches that say which recordings they hold, and by how much those are shifted."""
    for number in range(len(epoch.numbers) // CASE.batch):
        part = epoch.part(number, CASE.batch)
        yield part.numbers, part.shifts


def test_every_recording_is_delivered_once_and_another_epoch_has_another_order():
    epochs = [epoch_of(CASE, draw_of(7, call, "step")) for call in range(3)]
    assert all(
        sorted(epoch.numbers) == list(range(97)) and epoch.shifts is None for epoch in epochs
    )
    assert len({tuple(epoch.numbers) for epoch in epochs}) == 3
    assert epochs[0] == epoch_of(CASE, draw_of(7, 0, "step"))


def test_augmented_recordings_are_shifted_by_what_an_epoch_draws():
    epoch = Epoch.drawn(1000, True, 3)
    assert set(epoch.shifts) == set(range(-LARGEST_SHIFT, LARGEST_SHIFT + 1))
    assert (
        epoch.part(1, 5) == Epoch(epoch.numbers[5:10], epoch.shifts[5:10])
        and epoch.first(3).shifts == epoch.shifts[:3]
    )


def test_one_batch_of_an_epoch_is_kept():
    epochs = Epochs(CASE, delivered, seed=11)
    for call in range(20):
        draw = draw_of(11, call, "step")
        kept = epochs.phase.call(epochs.phase.prepare(call))
        assert kept.batches == batches_of(CASE) == 19
        assert kept.frames == epoch_of(CASE, draw).part(watched_by(CASE, draw), 5).numbers
    assert {watched_by(CASE, draw_of(11, call, "step")) for call in range(500)} == set(range(19))


def test_an_epoch_that_ends_early_leaves_nothing():
    epochs = Epochs(CASE, lambda epoch: iter(()), seed=11)
    assert vars(epochs.phase.call(epochs.phase.prepare(0))) == {
        "frames": None,
        "labels": None,
        "batches": 0,
    }
