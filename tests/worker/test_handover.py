"""What a worker and the judge hand over to each other arrives as it was sent, and nothing else
is taken."""

import json
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from snnbench.core.case import NATIVE, Case
from snnbench.core.contract import FixedPoint
from snnbench.core.result import Gradients
from snnbench.measure.phases import Draw
from snnbench.worker.handover import Reference, decode, encode

KINDS = ("float32", "float64", "int8", "uint8", "bool", "float16")
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0))
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
PLAIN = SCALARS | ARRAYS | st.builds(Reference, st.text()) | st.builds(Draw, *[st.integers(0)] * 4)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=7
)
FIXED = FixedPoint("exact", 0.25, -1.0, 1.0, 0.01, 0.1, nan)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arrays")


def sent(value, folder):
    arrived = decode(json.loads(json.dumps(encode(value, folder))), folder)
    assert list(folder.iterdir()) == [], "arrays are read once"
    return arrived


def same(one, other):
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or (one != one and other != other))


@given(VALUES)
def test_values_arrive_as_they_were_sent(folder, value):
    assert same(value, sent(value, folder))


def test_cases_gradients_and_statements_arrive_as_they_were_sent(folder):
    case = Case("torch", neuron=NATIVE, neurons=97)
    assert sent(case, folder) == case
    assert repr(sent(FIXED, folder)) == repr(FIXED)
    gradients = Gradients({"linear1": {"weight": np.ones((3, 2), np.float32), "bias": None}}, None)
    arrived = sent(gradients, folder)
    assert isinstance(arrived, Gradients) and arrived.input is None
    assert same(arrived.parameters, gradients.parameters)
    assert sent((1, np.float32(0.1)), folder) == [1, float(np.float32(0.1))]


def test_layouts_and_array_likes_arrive_as_plain_arrays(folder):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1]
    assert np.array_equal(sent(array, folder), array)
    assert sent(memoryview(b"ab"), folder).tolist() == [97, 98]


@pytest.mark.parametrize("value", [object(), np.array([object()])])
def test_what_would_have_to_be_pickled_is_not_sent(folder, value):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        encode(value, folder)
    for path in folder.iterdir():
        path.unlink()


JUNK = [
    [],
    {},
    {"array": "../secret.npy"},
    {"array": "0" * 32 + ".npy"},
    {"array": 3},
    {"dict": 3},
    {"Gradients": {}},
    {"Draw": {"source": 1}},
    {"Case": {"framework": 3}},
    {"Path": {}},
    {"a": 1, "b": 2},
]


@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_nothing_else_is_taken(folder, junk):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError, OSError)):
        decode(junk, folder)


def test_a_file_that_holds_a_pickle_or_nothing_is_not_taken(folder):
    for name, content in (("1" * 32, b""), ("2" * 32, b"no array")):
        (folder / f"{name}.npy").write_bytes(content)
        with pytest.raises((ValueError, EOFError)):
            decode({"array": f"{name}.npy"}, folder)
        (folder / f"{name}.npy").unlink()
    pickled = folder / f"{'3' * 32}.npy"
    np.save(pickled, np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        decode({"array": pickled.name}, folder)
    pickled.unlink()
