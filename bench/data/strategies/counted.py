"""Our own reading: all recordings of an epoch as counts, read in large pieces and binned without a
structured array."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from ...core.contract import Unsupported
from ..reading import opened
from ..recordings import Events
from .strategy import Strategy

MOST = 255
"""The highest count that uint8 holds."""


class Counted(Strategy):
    """A strategy that keeps counts. `labels` (N,), int64, are on the device."""

    labels: Tensor

    def counts(self) -> Iterator[np.ndarray]:
        """Frames (t, channels) of the recordings, one after the other, int64. Sets `labels`."""
        recordings = opened(self.case.dataset, self.folder, self.case.samples)
        self.labels = torch.from_numpy(recordings.labels[: self.case.samples]).to(self.device)
        for events in recordings.events(self.case.samples):
            yield self.frames_of(events.t.astype(np.int64), self.places(events))

    def places(self, events: Events) -> np.ndarray:
        """Where in a frame, its counts in a row, each event is counted: int64 (events,)."""
        if events.y is None or events.p is None:
            return (events.x * (self.shape[1] / self.data.sensor[0])).astype(np.int64)
        _, height, width = self.data.features
        return (events.p * height + events.y) * width + events.x

    def frames_of(self, t: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Counts (t, channels), int64, of events at `t` microseconds, ascending, and at `places` of
        a frame, both int64: as the oracle has them."""
        window, channels = self.data.window_us(self.shape[0]), self.shape[1]
        first, last = np.searchsorted(t, (0, self.data.longest_us + 1))
        t, places = t[first:last], places[first:last]
        if not len(t):
            return np.zeros((1, channels), np.int64)
        bins = (t - t[0]) // window
        count = max(1, -(-int(t[-1] - t[0]) // window))
        kept = np.searchsorted(bins, count)
        return np.bincount(
            bins[:kept] * channels + places[:kept], minlength=count * channels
        ).reshape(count, channels)

    def dense(self, frames: Iterator[np.ndarray], out: np.ndarray) -> None:
        """Fill `out` (N, T, channels), zeros and of type uint8, with frames. Raises Unsupported for
        a count that it does not hold."""
        for row, one in zip(out, frames, strict=True):
            if one.max(initial=0) > MOST:
                raise Unsupported(
                    f"a frame counts {one.max()} events in one place, and uint8 holds {MOST}"
                )
            row[: len(one)] = one
