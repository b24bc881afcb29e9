"""Adam's second state where its products are subnormal."""

import numpy as np
import pytest

from snnbench.core.result import Gradients
from snnbench.core.training import OPTIMIZERS
from snnbench.proof.training import wrong_update

TINY = float(np.finfo(np.float32).tiny)
ADAM = OPTIMIZERS["adam"]


@pytest.mark.parametrize(
    ("second", "faults"), [(0.0, 0), (0.99 * TINY, 0), (5 * TINY, 1)], ids=["flushed", "kept", "5"]
)
def test_a_product_that_is_flushed_to_0_is_right_and_a_larger_one_is_not(second, faults):
    """XLA on CPUs rounds subnormal products to 0: 1 − 0.999 times g² here."""
    g = np.float32(np.sqrt(0.99 * TINY / (1 - ADAM.second)))
    first = np.full((3, 2), np.float32(ADAM.share) * g, np.float32)
    states = {
        kind: {"linear1": {"weight": array}}
        for kind, array in (("first", first), ("second", np.full((3, 2), second, np.float32)))
    }
    before = {"linear1": {"weight": np.ones((3, 2), np.float32)}}
    root = np.sqrt(np.float64(second) / (1 - ADAM.second))
    move = ADAM.rate * first / (1 - ADAM.first) / (root + ADAM.epsilon)
    after = {"linear1": {"weight": (before["linear1"]["weight"] - move).astype(np.float32)}}
    given = Gradients({}, None, updated=after, states=states)
    assert len([*wrong_update("adam", "fp32", before, given)]) == faults
