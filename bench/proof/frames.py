"""Names what is wrong with delivered batches of frames."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..common.units import small_share
from ..core.case import Case
from .framing import Asked, Framing

PROVED = 1024
"""Most recordings that a proof compares."""


def batches_proved(case: Case) -> int:
    """Number of batches of an epoch that a proof compares."""
    return max(min(PROVED, case.samples) // case.batch, 1)


def stage_of(case: Case) -> str:
    """The name of a case's proof."""
    return f"frames of {batches_proved(case) * case.batch} recordings"


def _by(**wrong: object) -> Callable[[Framing, Asked], np.ndarray]:
    return lambda right, asked: asked.frames(replace(right, **wrong))  # type: ignore[arg-type]


FAULTS: dict[str, Callable[[Framing, Asked], np.ndarray]] = {
    "counts are clipped at 1": _by(clipped=True),
    "events of the last bin are lost": _by(last_bin=False),
    "frames begin at time 0, not at a recording's first event": _by(origin="zero"),
    "events behind the time that frames show are not cropped": _by(cropped=False),
    "frames divide a recording's own time evenly (tonic's n_time_bins)": _by(split="time"),
    "frames divide a recording's own time evenly (SpikingJelly's split_by = 'time')": _by(
        split="time", rest_in_last=True
    ),
    "frames have equally many events (tonic's n_event_bins)": _by(split="number"),
    "frames have equally many events (SpikingJelly's split_by = 'number')": _by(
        split="number", rest_in_last=True
    ),
    "channels are in reverse order": _by(reversed_places=True),
    "recordings are not shifted": lambda right, asked: replace(
        asked, shifts=[0] * len(asked.shifts)
    ).frames(right),
    "recordings are shifted the other way": lambda right, asked: asked.mirrored.frames(right),
    "what leaves the frame enters at its other side": lambda right, asked: asked.rolled(right),
}
"""Wrong frames, by the name of their fault."""

OF_CAMERAS = {
    "polarities are swapped": _by(swapped_polarities=True),
    "x and y are swapped": _by(swapped_axes=True),
}
"""Faults of recordings with pixels and polarities."""


def faults_of(framing: Framing) -> dict[str, Callable[[Framing, Asked], np.ndarray]]:
    return FAULTS if framing.data.is_sound else OF_CAMERAS | FAULTS


def wrong_with(
    framing: Framing, asked: Asked, frames: np.ndarray, labels: np.ndarray
) -> str | None:
    """Returns the fault of a batch of `frames` (B, steps, channels) and `labels` (B,), or None."""
    shape = (len(asked.events), framing.steps, framing.data.channels)
    if frames.shape != shape or labels.shape != asked.labels.shape:
        right_shapes = f"{shape} and {asked.labels.shape} are asked for"
        return (
            f"frames are of shape {frames.shape} and labels of shape {labels.shape}: {right_shapes}"
        )
    if frames.dtype != np.float32:
        return f"frames are {frames.dtype}: float32 is asked for"
    if labels.dtype != np.int64:
        return f"labels are {labels.dtype}: int64 is asked for"
    right = asked.frames(framing)
    if not np.array_equal(frames, right):
        return _named(framing, asked, frames, right)
    if not np.array_equal(labels, asked.labels):
        shuffled = np.array_equal(np.sort(labels), np.sort(asked.labels))
        return (
            "labels are those of other recordings of the batch" if shuffled else "labels are wrong"
        )
    return None


def _named(framing: Framing, asked: Asked, frames: np.ndarray, right: np.ndarray) -> str:
    for fault, of in faults_of(framing).items():
        if np.array_equal(frames, of(framing, asked)):
            return fault
    if _same_set(frames, right):
        return "frames are those of the batch's recordings in another order"
    differing = frames != right
    item, step, channel = (int(place) for place in np.argwhere(differing)[0])
    return (
        f"{small_share(float(differing.mean()))} of the frames' values are wrong, first in item "
        f"{item}, step {step}, {_place(framing, channel)}: "
        f"{frames[item, step, channel]:g}, not {right[item, step, channel]}"
    )


def _place(framing: Framing, channel: int) -> str:
    """Names a place of a frame."""
    if framing.data.is_sound:
        return f"channel {channel}"
    p, y, x = np.unravel_index(channel, framing.data.features)
    return f"polarity {p}, y {y}, x {x}"


def _same_set(frames: np.ndarray, right: np.ndarray) -> bool:
    return sorted(frame.astype(np.int64).tobytes() for frame in frames) == sorted(
        frame.tobytes() for frame in right
    )
