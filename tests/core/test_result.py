"""The harness reads results by itself: what could compute them when they are asked for is refused,
or not asked."""

import jax
import numpy as np
import pytest
import torch

from snnbench.core.contract import Program
from snnbench.core.result import BY_HARNESS, Result, held

ONES = np.ones((3, 5), np.float32)


class Computes(torch.Tensor):
    pass


class LazyDict(dict):
    def __getitem__(self, key):
        return ONES


class Getter(Result):
    @property
    def output(self):
        return ONES

    @output.setter
    def output(self, value):
        pass


class Number:
    def __float__(self):
        return 1.0


class NumpyLike:
    def __array__(self, *given):
        return ONES


@pytest.mark.parametrize(
    "array",
    [ONES, torch.ones(3, 5, dtype=torch.bfloat16), torch.nn.Parameter(torch.ones(3, 5))],
    ids=type,
)
def test_arrays_are_copied_as_float32(array):
    result = Result(borders={"neuron1": array}, output=array)
    for copy in (held(result, "output"), held(result, "borders")["neuron1"]):
        assert copy is not array and copy.dtype == np.float32 and np.array_equal(copy, ONES)


def test_so_are_those_of_jax():
    assert np.array_equal(
        held(Result(borders={}, output=jax.numpy.ones((3, 5), "bfloat16")), "output"), ONES
    )


LAZY = [
    torch.ones(3, 5).as_subclass(Computes),
    np.array([Number()]),
    np.ones(3).view(np.recarray),
    NumpyLike(),
    [ONES],
    LazyDict(),
    "ones",
    torch.ones(3, device="meta"),
]


@pytest.mark.parametrize("value", LAZY, ids=lambda value: type(value).__name__)
def test_what_could_compute_its_values_later_is_refused(value):
    for result, name in (
        (Result(borders={}, output=value), "output"),
        (Result(borders={"n": value}, output=None), "borders"),
    ):
        with pytest.raises(
            TypeError,
            match=r"must be a plain array of NumPy, torch or JAX, not a .*, which may compute its values",
        ):
            held(result, name)


def test_what_is_no_result_is_refused_whatever_class_it_says_it_has():
    class Forged:
        __class__ = Result
        output = ONES

    for value in (Forged(), {"output": ONES}, None):
        with pytest.raises(
            TypeError,
            match=r"must hand out a Result of plain arrays, not a \w+, which may compute them later",
        ):
            held(value, "output")


def test_attributes_are_not_asked():
    assert held(Getter(borders={}, output=None), "output") is None
    result = Result(borders={}, output=torch.zeros(3))
    result.output.detach = lambda: torch.ones(3)
    assert not held(result, "output").any()


def test_a_call_without_output_is_refused():
    with pytest.raises(TypeError, match="must hand out the value of the network's last node"):
        Program.output(None, Result(borders={}, output=None))


@pytest.mark.parametrize("method", BY_HARNESS)
def test_no_program_reads_by_itself(method):
    with pytest.raises(
        TypeError,
        match=f"Own must not define `{method}`: the harness reads the arrays of a Result and changes",
    ):
        type("Own", (Program,), {method: lambda *given: None})


def test_factors_are_undone_and_shapes_restored():
    program = type("Mine", (Program,), {"scales": {"a": 4.0}, "shapes": {"a": {"weight": (5, 3)}}})
    weights = {"a": {"weight": ONES, "bias": None}, "b": {"weight": ONES}}
    gradients = program.gradients(
        program, Result(borders={}, output=None, gradients=weights, updated=weights)
    )
    assert (
        gradients.parameters["a"]["weight"].shape == (5, 3)
        and gradients.parameters["a"]["bias"] is None
    )
    assert [own["weight"].flat[0] for own in gradients.parameters.values()] == [4.0, 1.0]
    assert [own["weight"].flat[0] for own in gradients.updated.values()] == [0.25, 1.0]
