"""The canary computes with normal numbers, which take the same time on every CPU."""

import numpy as np

from snnbench.measure import canary


def test_entries_keep_their_magnitude():
    matrix, _, _ = canary._arrays()
    product = matrix
    for _ in range(canary.TIMES):
        product = canary.multiplied(product, matrix)
        assert 1e-3 < np.abs(product).mean() < 1e6
