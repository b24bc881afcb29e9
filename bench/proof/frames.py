"""The frames that a recording has, in NumPy, and what is wrong with delivered batches, by name.

As tonic's `ToFrame` makes them of what `Downsample` and `CropTime` leave: the first frame begins at the first event, not at zero;
a recording has as many frames as its events span, the last one incomplete; an event right at the end of that span is in none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from snnbench.adapters.base.case import Case

PROVED = 1024
"""Recordings that a proof looks at, or all of an epoch if it has fewer."""


def batches_proved(case: Case) -> int:
    """How many batches of an epoch a proof looks at."""
    return max(min(PROVED, case.samples) // case.batch, 1)


def stage_of(case: Case) -> str:
    """The name of a case's proof."""
    return f"frames of {batches_proved(case) * case.batch} recordings"


Events = tuple[np.ndarray, np.ndarray]
"""Microseconds and channels of a recording's events, in the order of time."""


@dataclass(frozen=True)
class Framing:
    """How events become frames (steps, channels): `window` microseconds each, within the first `longest` of a recording, of
    `sensor` channels seen as fewer. The other fields are what can be wrong about it."""

    steps: int
    channels: int
    sensor: int
    window: int
    longest: int
    origin: str = "first event"
    last_bin: bool = True
    cropped: bool = True
    clipped: bool = False
    reversed_channels: bool = False

    def frames(self, events: Events) -> np.ndarray:
        """Counts (steps, channels) of one recording as int64, zeros behind its last frame."""
        t, x = events[0].astype(np.int64), (events[1] * (self.channels / self.sensor)).astype(np.int64)
        within = (t >= 0) & (t <= self.longest) if self.cropped else t >= 0
        t, x = t[within], x[within]
        frames = np.zeros((self.steps, self.channels), np.int64)
        if len(t):
            start = t[0] if self.origin == "first event" else 0
            bins = (t - start) // self.window
            count = max(1, -(-int(t[-1] - start) // self.window)) - (not self.last_bin)
            there = bins < min(count, self.steps)
            np.add.at(frames, (bins[there], x[there]), 1)
        frames = np.minimum(frames, 1) if self.clipped else frames
        return frames[:, ::-1] if self.reversed_channels else frames


@dataclass(frozen=True)
class Asked:
    """What a batch must hold: the events of its recordings, their labels (B,), and by how many channels each is shifted."""

    events: Sequence[Events]
    labels: np.ndarray
    shifts: Sequence[int]

    @property
    def mirrored(self) -> "Asked":
        """The same, shifted the other way."""
        return replace(self, shifts=[-by for by in self.shifts])

    def frames(self, framing: Framing) -> np.ndarray:
        """Counts (B, steps, channels)."""
        return np.stack([_shifted(framing.frames(one), by) for one, by in zip(self.events, self.shifts, strict=True)])


def _shifted(frames: np.ndarray, by: int) -> np.ndarray:
    """What leaves the frame is lost."""
    moved = np.roll(frames, by, axis=1)
    moved[:, : max(by, 0)] = 0
    moved[:, moved.shape[1] + min(by, 0) :] = 0
    return moved


FAULTS: dict[str, Callable[[Framing, Asked], np.ndarray]] = {
    "counts are clipped at 1": lambda right, asked: asked.frames(replace(right, clipped=True)),
    "events of the last bin are lost": lambda right, asked: asked.frames(replace(right, last_bin=False)),
    "frames begin at time 0, not at a recording's first event": lambda right, asked: asked.frames(replace(right, origin="zero")),
    "events behind the first second are not cropped": lambda right, asked: asked.frames(replace(right, cropped=False)),
    "channels are in reverse order": lambda right, asked: asked.frames(replace(right, reversed_channels=True)),
    "recordings are not shifted": lambda right, asked: replace(asked, shifts=[0] * len(asked.shifts)).frames(right),
    "recordings are shifted the other way": lambda right, asked: asked.mirrored.frames(right),
    "what leaves the frame enters at its other side": lambda right, asked: np.stack(
        [np.roll(right.frames(one), by, axis=1) for one, by in zip(asked.events, asked.shifts, strict=True)]
    ),
}
"""What wrong frames are compared with, to name the fault."""


def wrong_with(framing: Framing, asked: Asked, frames: np.ndarray, labels: np.ndarray) -> str | None:
    """What is wrong with a batch of `frames` (B, steps, channels) and `labels` (B,); None if nothing is."""
    shape = (len(asked.events), framing.steps, framing.channels)
    if frames.shape != shape or labels.shape != asked.labels.shape:
        right_shapes = f"{shape} and {asked.labels.shape} are asked for"
        return f"frames are of shape {frames.shape} and labels of shape {labels.shape}: {right_shapes}"
    if frames.dtype != np.float32:
        return f"frames are {frames.dtype}: float32 is asked for"
    right = asked.frames(framing)
    if not np.array_equal(frames, right):
        return _named(framing, asked, frames, right)
    if not np.array_equal(labels, asked.labels):
        shuffled = np.array_equal(np.sort(labels), np.sort(asked.labels))
        return "labels are those of other recordings of the batch" if shuffled else "labels are wrong"
    return None


def _named(framing: Framing, asked: Asked, frames: np.ndarray, right: np.ndarray) -> str:
    for fault, of in FAULTS.items():
        if np.array_equal(frames, of(framing, asked)):
            return fault
    if _same_set(frames, right):
        return "frames are those of the batch's recordings in another order"
    differing = frames != right
    item, step, channel = (int(place) for place in np.argwhere(differing)[0])
    return (
        f"{differing.mean():.1%} of the frames' values are wrong, first in item {item}, step {step}, channel {channel}: "
        f"{frames[item, step, channel]:g}, not {right[item, step, channel]}"
    )


def _same_set(frames: np.ndarray, right: np.ndarray) -> bool:
    return sorted(one.astype(np.int64).tobytes() for one in frames) == sorted(one.tobytes() for one in right)
