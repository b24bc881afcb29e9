"""Rounds float32 numbers to the short formats of a case, and the oracle's numbers at random. NumPy
only."""

from dataclasses import dataclass

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


EXACT = Exact()
SMALLEST = 2.0**-126
"""Smallest normal number of float32; smaller ones may be computed as zero."""


@dataclass
class RandomFloat32(Exact):
    """Float32 with results that are changed at random by up to half of their last bit (Monte Carlo
    arithmetic, Parker 1997): runs differ as right frameworks differ."""

    random: np.random.Generator
    dtype: type = np.float32

    def array(self, array: np.ndarray) -> np.ndarray:
        return self._changed(array, np.abs(array))

    def slope(self, spec: NeuronSpec, slope: np.ndarray) -> np.ndarray:
        """Rounds derivatives of the neuron's spikes; those of σ, which a framework may compute as
        σ·(1 − σ), to the last bit of the largest."""
        height = spec.slope / 4 if spec.surrogate == "sigmoid" else 0.0
        return self._changed(slope, slope + np.float32(height))

    def number(self, number: float) -> float:
        return number * (1 + last_bit("fp32") * self.random.uniform(-1, 1))

    def _changed(self, array: np.ndarray, size: np.ndarray) -> np.ndarray:
        share = 2 * self.random.random(array.shape, np.float32) - 1
        return array + share * (np.float32(last_bit("fp32")) * size + np.float32(SMALLEST))
