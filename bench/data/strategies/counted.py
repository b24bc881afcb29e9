"""Our own reading: all recordings of an epoch as counts, read in large pieces and binned without a structured array."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from snnbench.adapters.base.contract import Unsupported

from ..datasets import CHANNELS, DATA_SETS, LONGEST_US, name_of, window_us
from ..recordings import Recordings
from .strategy import Strategy

MOST = 255
"""The highest count that uint8 holds."""


class Counted(Strategy):
    """A strategy that keeps counts. `labels` (N,), int64, are on the device."""

    labels: Tensor

    def counts(self) -> Iterator[np.ndarray]:
        """Frames (t, channels) of the recordings, one after the other, int64. Sets `labels`."""
        data = DATA_SETS[name_of(self.case.dataset)]
        recordings = Recordings(data.file(self.folder))
        self.labels = torch.from_numpy(recordings.labels[: self.case.samples]).to(self.device)
        for t, x in recordings.events(self.case.samples):
            yield self.frames_of(t.astype(np.int64), (x * (CHANNELS / data.sensor[0])).astype(np.int64))

    def frames_of(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Counts (t, channels), int64, of events at `t` microseconds, ascending, on channels `x`, both int64: as the oracle has
        them."""
        window = window_us(self.shape[0])
        first, last = np.searchsorted(t, (0, LONGEST_US + 1))
        t, x = t[first:last], x[first:last]
        if not len(t):
            return np.zeros((1, CHANNELS), np.int64)
        bins = (t - t[0]) // window
        count = max(1, -(-int(t[-1] - t[0]) // window))
        kept = np.searchsorted(bins, count)
        places = bins[:kept] * CHANNELS + x[:kept]
        return np.bincount(places, minlength=count * CHANNELS).reshape(count, CHANNELS)

    def dense(self, frames: Iterator[np.ndarray], out: np.ndarray) -> None:
        """Fill `out` (N, T, channels), zeros and of type uint8, with frames. Raises Unsupported for a count that it does not
        hold."""
        for row, one in zip(out, frames, strict=True):
            if one.max(initial=0) > MOST:
                raise Unsupported(f"a frame counts {one.max()} events in one place, and uint8 holds {MOST}")
            row[: len(one)] = one
