"""The synthetic task: the same for every framework, as dense as the case's input, and there to
be learned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snnbench.core.case import INPUTS, Case
from snnbench.workloads import workload_of
from snnbench.workloads.task import SHARES, batch_of

MLP = Case(
    "any",
    workload="mnist-mlp",
    neurons=97,
    image=9,
    classes=7,
    time_steps=37,
    batch=300,
    loss="cross-entropy",
)
IMAGES = replace(MLP, workload="cifar-small", width=4, image=11)


def batch(case, number=0):
    case = workload_of(case).canonical(case)
    return batch_of(case, workload_of(case).network(case), number)


@given(
    st.sampled_from([MLP, IMAGES]), st.sampled_from(INPUTS), st.integers(0, 50), st.integers(1, 5)
)
def test_a_batch_is_the_same_in_every_process_and_no_two_are_alike(case, kind, number, size):
    case = replace(case, input=kind, batch=size, time_steps=3)
    (x, labels), (again, same) = (
        batch(case, number),
        batch(replace(case, framework="other", mode="compile"), number),
    )
    assert np.array_equal(x, again) and np.array_equal(labels, same) and x.dtype == np.float32
    assert (
        x.shape[:2] == (3, size)
        and labels.shape == (size,)
        and labels.min() >= 0
        and labels.max() < 7
    )
    assert not np.array_equal(x, batch(case, number + 1)[0])
    assert not np.array_equal(x, batch(replace(case, seed=1), number)[0])


@pytest.mark.parametrize("kind", ["spikes", "events", "rate"])
def test_its_input_is_as_dense_as_the_cases(kind):
    x, _ = batch(replace(MLP, input=kind, firing=None))
    assert set(np.unique(x)) == {0, 1}
    assert x.mean() == pytest.approx(SHARES.get(kind, 0.3), rel=0.1)


@pytest.mark.parametrize("case", [MLP, IMAGES], ids=["vectors", "images"])
@pytest.mark.parametrize("kind", INPUTS)
def test_a_class_is_where_its_samples_are_bright(case, kind):
    """The means of the classes tell new samples apart."""
    case = replace(case, input=kind)
    (x, labels), (new, wanted) = batch(case, 0), batch(case, 1)
    means = np.stack([x[:, labels == label].mean(axis=(0, 1)).ravel() for label in range(7)])
    told = [np.argmin(((means - sample.ravel()) ** 2).sum(axis=1)) for sample in new.mean(axis=0)]
    assert np.mean(told == wanted) > 0.95
