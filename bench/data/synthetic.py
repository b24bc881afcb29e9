"""Synthetic recordings with the statistics of real ones: numbers, lengths, and how many events
share a bin.

Every recording has its own random generator, from the seed, the split and its number: the same seed
gives the same files, and a larger file begins with the recordings of a smaller one. A class has its
own pattern, which a small network can learn.
"""

from dataclasses import dataclass

import numpy as np

from ..core.datasets import DataSet

NOISE = 0.1
"""Share of events outside the pattern."""


@dataclass(frozen=True)
class Recording:
    """A class, and events in order of time: `t` in seconds, coordinates `x` and `y`, polarities
    `p`, each (events,)."""

    t: np.ndarray
    x: np.ndarray
    y: np.ndarray
    p: np.ndarray
    label: int


def recording(data: DataSet, split: str, number: int, seed: int) -> Recording:
    random = np.random.default_rng([seed, [*data.splits].index(split), number])
    label = int(random.integers(data.classes))
    count = int(
        np.clip(
            random.lognormal(np.log(data.events), data.spread), data.events / 10, data.events * 4
        )
    )
    duration = random.uniform(*data.seconds)
    # Events come in waves: syllables, or movements.
    beats = random.uniform(0.0, 1.0, 12)
    t = np.sort(
        (beats[random.integers(len(beats), size=count)] + random.normal(0, 0.07, count)) % 1.0
    )
    pattern = _sound if data.sensor[1] == 1 else _movement
    x, y = pattern(data, label, t, random)
    noise = random.random(count) < NOISE
    width, height, polarities = data.sensor
    x[noise] = random.integers(width, size=noise.sum())
    y[noise] = random.integers(height, size=noise.sum())
    p = random.integers(polarities, size=count) if polarities > 1 else np.ones(count, np.int64)
    return Recording(t * duration, x.clip(0, width - 1), y.clip(0, height - 1), p, label)


def _sound(
    data: DataSet, label: int, t: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws five formants of a class, each rising or falling over the recording."""
    of_class = np.random.default_rng([label, data.classes])
    start, end = of_class.uniform(0.05, 0.95, (2, 5)) * data.sensor[0]
    formant = random.integers(5, size=len(t))
    middle = start[formant] + (end - start)[formant] * t
    x = np.rint(middle + random.normal(0, 0.016 * data.sensor[0], len(t)))
    return x.astype(np.int64), np.zeros(len(t), np.int64)


def _movement(
    data: DataSet, label: int, t: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws the outline of a class's shape in motion."""
    of_class = np.random.default_rng([label, data.classes])
    radius, petals = of_class.uniform(0.15, 0.35), of_class.integers(1, 6)
    turns = of_class.uniform(-2, 2)
    angle = random.uniform(0, 2 * np.pi, len(t))
    distance = radius * (1 + 0.4 * np.cos(petals * angle))
    moved = 2 * np.pi * (angle / (2 * np.pi) + turns * t)
    along = 0.1 * np.sin(2 * np.pi * (3 * t + of_class.random()))
    side = min(data.sensor[:2])
    x, y = (
        0.5 + shift + distance * wave(moved) for shift, wave in ((along, np.cos), (-along, np.sin))
    )
    jitter = random.normal(0, 0.02, (2, len(t)))
    x, y = np.rint((np.stack([x, y]) + jitter) * side).astype(np.int64)
    return x, y
