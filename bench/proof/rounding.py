"""Rounds float32 numbers to the short formats of a case, and the oracle's numbers at random. NumPy
only."""

from dataclasses import dataclass
from math import log

import numpy as np

from snnbench.kernels.spec import NeuronSpec

_MANTISSA_BITS = {"tf32": 10, "bf16": 7, "amp-bf16": 7}


def last_bit(precision: str) -> float:
    """Largest rounding error of a stored parameter of 1 in that precision."""
    return 2.0 ** -{"bf16": 8, "fp16": 11}.get(precision, 24)


def round_to(array: np.ndarray, precision: str) -> np.ndarray:
    """Rounds `array` (float32) to nearest even in the format of `precision`, still as float32;
    fp32 is unchanged. Finite input stays finite for tf32 and bf16 unless it exceeds their
    largest number."""
    array = np.ascontiguousarray(array, dtype=np.float32)
    if precision == "fp32":
        return array
    if precision == "fp16":
        return array.astype(np.float16).astype(np.float32)
    dropped = 23 - _MANTISSA_BITS[precision]
    bits = array.view(np.uint32)
    half = np.uint32((1 << (dropped - 1)) - 1)
    last_kept_bit = (bits >> np.uint32(dropped)) & np.uint32(1)
    rounded = (bits + half + last_kept_bit) & np.uint32(~((1 << dropped) - 1) & 0xFFFFFFFF)
    return np.where(np.isfinite(array), rounded.view(np.float32), array)


class Exact:
    """The arithmetic of the oracle: float64, nothing is rounded."""

    dtype: type = np.float64

    def array(self, array: np.ndarray) -> np.ndarray:
        return array

    def slope(self, spec: NeuronSpec, slope: np.ndarray) -> np.ndarray:
        """Rounds derivatives of the neuron's spikes."""
        return slope

    def number(self, number: float) -> float:
        return number

    def step(self, array: np.ndarray) -> np.ndarray:
        """Rounds a result of one time step."""
        return array


EXACT = Exact()
SMALLEST = 2.0**-126
"""Smallest normal number of float32; smaller ones may be computed as zero."""
LARGEST_FP16 = 65504.0
SHORT = {"bf16": "bf16", "amp-bf16": "bf16", "fp16": "fp16"}
"""The format of potentials by precision, where it is shorter than float32."""


@dataclass
class RandomFloat32(Exact):
    """Float32 with results that are changed at random by up to half of their last bit (Monte Carlo
    arithmetic, Parker 1997): runs differ as right frameworks differ."""

    random: np.random.Generator
    dtype: type = np.float32
    bit: float = last_bit("fp32")

    def array(self, array: np.ndarray) -> np.ndarray:
        return self._changed(array, np.abs(array))

    def slope(self, spec: NeuronSpec, slope: np.ndarray) -> np.ndarray:
        """Rounds derivatives of the neuron's spikes; those of σ, which a framework may compute as
        σ·(1 − σ), to the last bit of the largest."""
        height = spec.slope / 4 if spec.surrogate == "sigmoid" else 0.0
        return self._changed(slope, slope + np.float32(height))

    def number(self, number: float) -> float:
        return number * (1 + self.bit * self.random.uniform(-1, 1))

    def _changed(self, array: np.ndarray, size: np.ndarray) -> np.ndarray:
        share = 2 * self.random.random(array.shape, np.float32) - 1
        return array + share * (np.float32(self.bit) * size + np.float32(SMALLEST))


class RandomShort(RandomFloat32):
    """A short format, in which every result is one of its two neighbours, the nearer one with the
    higher probability (stochastic rounding), and which knows a number as it is or rounded. Numbers
    of the format stay. Products are summed in float32, as frameworks do."""

    def __init__(self, random: np.random.Generator, precision: str) -> None:
        self.format = SHORT[precision]
        super().__init__(random, bit=last_bit(self.format))

    def array(self, array: np.ndarray) -> np.ndarray:
        array = array.astype(np.float32)
        power = (array.view(np.uint32) & np.uint32(0x7F800000)).view(np.float32)
        if self.format == "fp16":
            power = np.maximum(power, np.float32(2.0**-14))  # below it, steps are no longer smaller
        share = 2 * self.random.random(array.shape, np.float32) - 1
        return round_to(array + share * (np.float32(self.bit) * power), self.format)

    step = array

    def slope(self, spec: NeuronSpec, slope: np.ndarray) -> np.ndarray:
        """Rounds derivatives of the neuron's spikes, with exponents that were rounded before, and
        differences of two numbers as these. In fp16 the square under a small one overflows."""
        heights = {"sigmoid": spec.slope / 4, "exponential": spec.slope / 2}
        peak = heights.get(spec.surrogate, 1.0)
        exponent = log(peak) - np.log(np.maximum(slope, np.float32(SMALLEST)))
        height = peak if spec.surrogate in ("sigmoid", "triangle") else 0.0
        changed = self._changed(
            slope, slope * (2 + exponent.clip(0)) + np.float32(height) * (slope > 0)
        )
        if self.format == "fp16" and spec.surrogate in ("superspike", "atan"):
            changed *= slope > 1 / LARGEST_FP16
        return changed

    def number(self, number: float) -> float:
        rounded = float(round_to(np.array([number]), self.format)[0])
        return number + self.random.random() * (rounded - number)


def random_arithmetic(random: np.random.Generator, precision: str) -> RandomFloat32:
    return RandomShort(random, precision) if precision in SHORT else RandomFloat32(random)
