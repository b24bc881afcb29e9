"""Frames of a recording, in NumPy.

They equal those of tonic's `ToFrame` after `Downsample` and `CropTime`: the first frame begins at
the first event, not at zero; a recording has as many frames as its events span, the last one
incomplete; an event right at the end of that span is in none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.datasets import DataSet
from ..data.recordings import Events


@dataclass(frozen=True)
class Framing:
    """The rule by which events of a data set become frames (steps, channels), each with its
    `features` in a row. The other fields are faults."""

    data: DataSet
    steps: int
    split: str = "window"
    origin: str = "first event"
    last_bin: bool = True
    rest_in_last: bool = False
    cropped: bool = True
    clipped: bool = False
    reversed_places: bool = False
    swapped_polarities: bool = False
    swapped_axes: bool = False

    def frames(self, events: Events) -> np.ndarray:
        """Counts (steps, channels) of one recording as int64, zeros behind its last frame."""
        t, places = events.t.astype(np.int64), self._places(events)
        within = (t >= 0) & (t <= self.data.longest_us) if self.cropped else t >= 0
        t, places = t[within], places[within]
        frames = np.zeros((self.steps, self.data.channels), np.int64)
        if len(t):
            bins = self._bins(t)
            there = bins < self.steps
            np.add.at(frames.reshape(-1), bins[there] * self.data.channels + places[there], 1)
        frames = np.minimum(frames, 1) if self.clipped else frames
        return frames[:, ::-1] if self.reversed_places else frames

    def _bins(self, t: np.ndarray) -> np.ndarray:
        """Returns the frame of each event, `steps` or more if it is in none."""
        if self.split == "window":
            window = self.data.window_us(self.steps)
            start = t[0] if self.origin == "first event" else 0
            bins = (t - start) // window
            count = max(1, -(-int(t[-1] - start) // window)) - (not self.last_bin)
            return np.where(bins < count, bins, self.steps)
        by_time = self.split == "time"
        passed, whole = (t - t[0], t[-1] - t[0]) if by_time else (np.arange(len(t)), len(t))
        bins = passed // max(1, int(whole) // self.steps)
        return np.minimum(bins, self.steps - 1) if self.rest_in_last else bins

    def _places(self, events: Events) -> np.ndarray:
        """Returns the place of each event in a frame."""
        if events.y is None or events.p is None:
            return (events.x * (self.data.channels / self.data.sensor[0])).astype(np.int64)
        x, y, p = events.x, events.y, 1 - events.p if self.swapped_polarities else events.p
        x, y = (y, x) if self.swapped_axes else (x, y)
        return np.ravel_multi_index((p, y, x), self.data.features)

    def shifted(self, frames: np.ndarray, by: int) -> np.ndarray:
        """Shifts counts by `places` in each row; those that leave the row are lost."""
        moved = self.rolled(frames, by).reshape(*frames.shape[:-1], -1, self.data.features[-1])
        moved[..., : max(by, 0)] = 0
        moved[..., moved.shape[-1] + min(by, 0) :] = 0
        return moved.reshape(frames.shape)

    def rolled(self, frames: np.ndarray, by: int) -> np.ndarray:
        """Shifts counts cyclically in each row."""
        rows = frames.reshape(*frames.shape[:-1], -1, self.data.features[-1])
        return np.roll(rows, by, axis=-1).reshape(frames.shape)


@dataclass(frozen=True)
class Asked:
    """Contents of a batch: the events of its recordings, their labels (B,), and the shift of
    each in places."""

    events: Sequence[Events]
    labels: np.ndarray
    shifts: Sequence[int]

    @property
    def mirrored(self) -> "Asked":
        """The same batch, shifted the other way."""
        return replace(self, shifts=[-by for by in self.shifts])

    def frames(self, framing: Framing) -> np.ndarray:
        """Counts (B, steps, channels)."""
        return np.stack(
            [
                framing.shifted(framing.frames(one), by)
                for one, by in zip(self.events, self.shifts, strict=True)
            ]
        )

    def rolled(self, framing: Framing) -> np.ndarray:
        """Frames with cyclic shifts."""
        return np.stack(
            [
                framing.rolled(framing.frames(one), by)
                for one, by in zip(self.events, self.shifts, strict=True)
            ]
        )
