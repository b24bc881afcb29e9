"""Rounds float32 numbers to the short formats of a case. NumPy only."""

import numpy as np

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
