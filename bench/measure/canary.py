"""A constant task: its seconds show how fast the machine is at the moment."""

import math
import time
from functools import cache

import numpy as np

SIDE, TIMES, NUMBERS = 192, 150, 1 << 20
"""Rows of the multiplied matrices, number of products, and numbers copied after each: about 30
ms of a core."""


@cache
def _arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix = np.random.default_rng(0).standard_normal((SIDE, SIDE)).astype(np.float32)
    return matrix, np.ones(NUMBERS, np.float32), np.zeros(NUMBERS, np.float32)


def multiplied(product: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Returns their product with entries of the same magnitude: many CPUs take ten times as long
    for subnormal numbers."""
    return product @ matrix / math.sqrt(SIDE)


def seconds_of_task() -> tuple[float, float]:
    """Returns (wall, CPU) seconds of products that fit into a core's cache and of copies of 4
    MiB."""
    matrix, source, target = _arrays()
    cpu, start, product = time.process_time(), time.perf_counter(), matrix
    for _ in range(TIMES):
        product = multiplied(product, matrix)
        np.copyto(target, source)
    return time.perf_counter() - start, time.process_time() - cpu
