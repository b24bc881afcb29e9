"""Epochs of a case that delivers data: every recording once, another order at each call, and a
batch that cannot be guessed."""

from collections import Counter
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest
import torch
from support.recordings import data_case

from snnbench.data.epoch import LARGEST_SHIFT, Epoch
from snnbench.measure.epochs import Epochs, batches_of, epoch_of
from snnbench.measure.phases import draw_of

CASE = data_case("frames", "uint8", samples=97, batch=5)


def delivered(epoch):
    """Batches that hold the numbers of their recordings, and by how much those are shifted."""
    for number in range(len(epoch.numbers) // CASE.batch):
        part = epoch.part(number, CASE.batch)
        yield torch.tensor(part.numbers), torch.tensor(part.shifts or [0] * CASE.batch)


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


def epochs_of(deliver, watched=0):
    """Epochs of which the batch `watched` is the last that is drawn."""
    return Epochs(CASE, deliver, seed=11, draw=lambda count: int(count != watched + 1))


@pytest.mark.parametrize("watched", [0, 7, 18])
def test_the_last_batch_that_is_drawn_is_kept(watched):
    epochs = epochs_of(delivered, watched)
    kept = epochs.phase.call(epochs.phase.prepare(3))
    assert (kept.number, kept.batches) == (watched, batches_of(CASE))
    numbers = epoch_of(CASE, draw_of(11, 3, "step")).part(watched, 5).numbers
    assert kept.frames.tolist() == numbers


def test_every_batch_has_the_same_chance_up_to_the_end_of_the_epoch():
    random = Random(5)
    epochs = Epochs(CASE, delivered, seed=11, draw=random.randrange)
    counts = Counter(epochs.phase.call(epochs.phase.prepare(0)).number for _ in range(1900))
    assert set(counts) == set(range(19)) and min(counts.values()) > 50 < max(counts.values()) < 150


def test_a_batch_is_read_before_the_next_is_asked_for():
    """A buffer may be written over then, not before."""

    def in_one_buffer(epoch):
        buffer = torch.zeros(5)
        for frames, labels in delivered(epoch):
            buffer.copy_(frames)
            yield buffer, labels

    def too_late(epoch):
        for frames, labels in delivered(epoch):
            buffer = torch.zeros(5)
            yield buffer, labels
            buffer.copy_(frames)

    right, late = (
        epochs.phase.call(epochs.phase.prepare(0)).frames.tolist()
        for epochs in (epochs_of(in_one_buffer, 4), epochs_of(too_late, 4))
    )
    assert right == epoch_of(CASE, draw_of(11, 0, "step")).part(4, 5).numbers and late == [0.0] * 5


class Own(torch.Tensor):
    """A class of its own."""


def test_a_batch_of_another_class_is_refused():
    epochs = epochs_of(lambda epoch: iter([(torch.zeros(5).as_subclass(Own), torch.zeros(5))]))
    with pytest.raises(TypeError, match="a batch must be plain tensors of torch, not a Own"):
        epochs.phase.call(epochs.phase.prepare(0))


def test_copies_take_none_of_the_epochs_time():
    """Of 19 batches two are copied here, in 2 s and 3 CPU seconds each."""
    ticks = count(step=2.0)
    clock = SimpleNamespace(
        perf_counter=ticks.__next__, process_time=lambda used=count(step=3.0): next(used)
    )
    epochs = Epochs(CASE, delivered, 11, clock, lambda batches: int(batches not in (1, 9)))
    epochs.phase.call(epochs.phase.prepare(0))
    assert epochs.phase.aside() == (4.0, 6.0)
    epochs.phase.call(epochs.phase.prepare(0))
    assert epochs.phase.aside() == (4.0, 6.0)


def test_an_epoch_that_ends_early_leaves_nothing():
    epochs = Epochs(CASE, lambda epoch: iter(()), seed=11)
    nothing = {"frames": None, "labels": None, "number": 0, "batches": 0}
    assert vars(epochs.phase.call(epochs.phase.prepare(0))) == nothing
