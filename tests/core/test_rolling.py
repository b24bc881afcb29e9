"""Rolled arrays of every framework, against NumPy."""

import numpy as np
import pytest

from snnbench.core.rolling import rolled, shifts

torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
jax = pytest.importorskip("jax")
GIVEN = np.random.default_rng(3).normal(size=(37, 3, 97)).astype(np.float32)
TURN = 8191


@pytest.mark.parametrize("make", [np.array, torch.tensor, jnp.array], ids=["numpy", "torch", "jax"])
def test_every_framework_rolls_as_numpy_does_and_leaves_what_it_was_given(make):
    given = make(GIVEN)
    wanted = np.roll(GIVEN, shifts(TURN, GIVEN.shape), (0, 1, 2))
    first = rolled(given, TURN)
    assert type(first) is type(given)
    assert np.array_equal(np.asarray(first), wanted) and np.array_equal(np.asarray(given), GIVEN)
    again = rolled(given, 0, first)
    assert np.array_equal(np.asarray(again), GIVEN)


def test_jax_compiles_nothing_for_new_memory_on_a_cpu():
    given = jax.device_put(jnp.array(GIVEN[:5, :2, :11]), jax.devices("cpu")[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snnbench.core.rolling._roll_of_jax", lambda: pytest.fail("compiled"))
        moved = rolled(given, TURN)
    assert moved.sharding == given.sharding and moved.dtype == given.dtype


@pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["numpy", "torch"])
def test_what_can_be_written_to_is_written_over(make):
    buffer = make(np.zeros_like(GIVEN))
    assert rolled(make(GIVEN), 5, buffer) is buffer


def test_another_kind_of_array_is_refused():
    class Lazy:
        shape = (2, 3)

    with pytest.raises(TypeError, match="NumPy, torch or JAX, not a Lazy"):
        rolled(Lazy(), 1)
