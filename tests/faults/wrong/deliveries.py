"""Strategies that deliver something wrong, each by one fault."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Thread

import numpy as np
import torch

from snnbench.data.epoch import Epoch
from snnbench.data.strategies import frames_strategies
from snnbench.data.strategies.loading import Loading


def adapter_of(name: str, of: type[frames_strategies.Uint8]) -> type[Loading]:
    """An adapter with one strategy."""
    members = {
        "name": name,
        "requires": ("torch", "h5py"),
        "strategy": lambda self, case, folder, cache: of(case, folder, cache),
    }
    return type(name, (Loading,), members)


def wrong(name: str, change: Callable) -> type[Loading]:
    """An adapter with a strategy that hands over `change(frames, labels, number of the epoch,
    number of the batch)`."""

    class Strategy(frames_strategies.Uint8):
        epochs = 0

        def epoch(self, epoch):
            self.epochs += 1
            for number, (frames, labels) in enumerate(super().epoch(epoch)):
                yield change(frames, labels, self.epochs, number)

    return adapter_of(name, Strategy)


Right = wrong("Right", lambda frames, labels, epoch, batch: (frames, labels))
Clipped = wrong("Clipped", lambda frames, labels, epoch, batch: (frames.clamp(max=1), labels))
Reversed = wrong("Reversed", lambda frames, labels, epoch, batch: (frames.flip(2), labels))
Shuffled = wrong("Shuffled", lambda frames, labels, epoch, batch: (frames, labels.roll(1)))
OtherLabels = wrong("OtherLabels", lambda frames, labels, epoch, batch: (frames, labels + 1))
OtherOrder = wrong("OtherOrder", lambda frames, labels, epoch, batch: (frames.flip(0), labels))
Half = wrong("Half", lambda frames, labels, epoch, batch: (frames.half(), labels))
Short = wrong("Short", lambda frames, labels, epoch, batch: (frames[:, :-1], labels))
LastBatchSilent = wrong(
    "LastBatchSilent", lambda frames, labels, epoch, batch: (frames * (batch < 1), labels)
)
OnlyProvedRight = wrong(
    "OnlyProvedRight", lambda frames, labels, epoch, batch: (frames * (epoch < 4), labels)
)
"""Its fourth epoch and those after it are silent: the first three are the first call and the
proof."""
ShortLabels = wrong("ShortLabels", lambda frames, labels, epoch, batch: (frames, labels.int()))


def batches(name: str, change: Callable) -> type[Loading]:
    """An adapter with a strategy that delivers `change(batches, number of the epoch)`."""

    class Strategy(frames_strategies.Uint8):
        epochs = 0

        def epoch(self, epoch):
            self.epochs += 1
            yield from change(list(super().epoch(epoch)), self.epochs)

    return adapter_of(name, Strategy)


TooFew = batches("TooFew", lambda batches, epoch: batches[:-1])
TooMany = batches("TooMany", lambda batches, epoch: batches + batches[:1])
FewerWhenTimed = batches(
    "FewerWhenTimed", lambda batches, epoch: batches if epoch < 4 else batches[:-1]
)


class _IncompleteToo(frames_strategies.Uint8):
    """Does not drop the incomplete last batch."""

    def epoch(self, epoch):
        for numbers in torch.tensor(epoch.numbers).split(self.case.batch):
            yield self._batch(numbers, None)


class _FetchedAhead(frames_strategies.Uint8):
    """Begins an epoch with a batch that was fetched at the end of the last one, in its order."""

    ahead = None

    def epoch(self, epoch):
        batches = super().epoch(epoch)
        if self.ahead is not None:
            next(batches)
            yield self.ahead
        yield from batches
        self.ahead = next(super().epoch(epoch))


class _InTurn(frames_strategies.Uint8):
    """A thread fills buffers in turn, and one filled batch waits: two buffers are too few, because
    the thread then writes into the one that is being read."""

    count = 2

    def epoch(self, epoch):
        ready = Queue(maxsize=1)
        buffers = [torch.zeros(self.case.batch, *self.shape) for _ in range(self.count)]

        def fill():
            for number, (frames, labels) in enumerate(super(_InTurn, self).epoch(epoch)):
                ready.put((buffers[number % self.count].copy_(frames), labels))
            ready.put(None)

        Thread(target=fill, daemon=True).start()
        while batch := ready.get():
            yield batch


class _ThreeInTurn(_InTurn):
    """Right: one is read, one waits, one is filled."""

    count = 3


class _Buffered(frames_strategies.Uint8):
    """Right: writes a batch where an earlier one is, and only once the next is asked for."""

    count, buffers = 1, None

    def epoch(self, epoch):
        for number, batch in enumerate(super().epoch(epoch)):
            self.buffers = self.buffers or [
                [torch.empty_like(each) for each in batch] for _ in range(self.count)
            ]
            buffer = self.buffers[number % self.count]
            for place, each in zip(buffer, batch, strict=True):
                place.copy_(each)
            yield tuple(buffer)


class _DoubleBuffered(_Buffered):
    """Right: fills one buffer in a thread while the other is read."""

    count = 2

    def epoch(self, epoch):
        with ThreadPoolExecutor(1) as pool:
            batches = super().epoch(epoch)
            following = pool.submit(next, batches, None)
            while batch := following.result():
                following = pool.submit(next, batches, None)
                yield batch


class _FilledLate(frames_strategies.Uint8):
    """Hands out an empty batch and fills it when the next is asked for."""

    def epoch(self, epoch):
        for frames, labels in super().epoch(epoch):
            place = torch.zeros_like(frames)
            yield place, labels
            place.copy_(frames)


class Unmade(torch.Tensor):
    """A tensor that is made when it is read."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        frames = arguments[0].make()
        return function(frames, *arguments[1:], **(options or {}))


class _MadeWhenRead(frames_strategies.Uint8):
    """Hands out tensors of a class of its own, which compute their values when they are read."""

    def _batch(self, chosen, by):
        batch = torch.empty(0).as_subclass(Unmade)
        batch.make = lambda: super(_MadeWhenRead, self)._batch(chosen, by)[0]
        return batch, self.labels[chosen]


OneBuffer = adapter_of("OneBuffer", _Buffered)
DoubleBuffered = adapter_of("DoubleBuffered", _DoubleBuffered)
IncompleteToo = adapter_of("IncompleteToo", _IncompleteToo)
FetchedAhead = adapter_of("FetchedAhead", _FetchedAhead)
TwoInTurn = adapter_of("TwoInTurn", _InTurn)
ThreeInTurn = adapter_of("ThreeInTurn", _ThreeInTurn)
FilledLate = adapter_of("FilledLate", _FilledLate)
MadeWhenRead = adapter_of("MadeWhenRead", _MadeWhenRead)


class _LastBinLost(frames_strategies.Uint8):
    def frames_of(self, t, places):
        frames = super().frames_of(t, places)
        frames[-1] = 0
        return frames


class _FromZero(frames_strategies.Uint8):
    def frames_of(self, t, places):
        window, within = self.data.window_us(self.shape[0]), (t >= 0) & (t <= self.data.longest_us)
        frames, bins = np.zeros(self.shape, np.int64), t[within] // window
        there = bins < -(-int(t[within][-1]) // window)
        np.add.at(frames, (bins[there], places[within][there]), 1)
        return frames


class _Evenly(frames_strategies.Uint8):
    """Frames of equal parts of a recording, with the rest in the last, as SpikingJelly's."""

    def frames_of(self, t, places):
        within = (t >= 0) & (t <= self.data.longest_us)
        t, frames = t[within].astype(np.int64), np.zeros(self.shape, np.int64)
        passed, whole = self.passed(t)
        bins = np.minimum(passed // max(1, int(whole) // len(frames)), len(frames) - 1)
        np.add.at(frames, (bins, places[within]), 1)
        return frames


class _EvenTimes(_Evenly):
    def passed(self, t):
        return t - t[0], t[-1] - t[0]


class _EvenCounts(_Evenly):
    def passed(self, t):
        return np.arange(len(t)), len(t)


class _NotShifted(frames_strategies.Uint8):
    def epoch(self, epoch):
        return super().epoch(Epoch(epoch.numbers))


class _PolaritiesSwapped(frames_strategies.Uint8):
    def places(self, events):
        return super().places(events._replace(p=1 - events.p))


class _AxesSwapped(frames_strategies.Uint8):
    def places(self, events):
        return super().places(events._replace(x=events.y, y=events.x))


LastBinLost = adapter_of("LastBinLost", _LastBinLost)
FromZero = adapter_of("FromZero", _FromZero)
EvenTimes = adapter_of("EvenTimes", _EvenTimes)
EvenCounts = adapter_of("EvenCounts", _EvenCounts)
NotShifted = adapter_of("NotShifted", _NotShifted)
PolaritiesSwapped = adapter_of("PolaritiesSwapped", _PolaritiesSwapped)
AxesSwapped = adapter_of("AxesSwapped", _AxesSwapped)
