"""Keywords of `snnbench.run` and `snnbench.check`: the axes of a config's grid, typed for
editors."""

import ast
import inspect
from typing import get_args, get_type_hints

import pytest
from support.paths import ROOT

import snnbench
from snnbench.api import axes
from snnbench.experiment.config import Grid

KINDS = {"boolean": axes.Flag, "integer": axes.Whole, "number": axes.Share, "string": axes.Text}


def test_the_keywords_are_the_axes_of_the_config_with_their_types():
    schema = Grid.model_json_schema()["properties"]
    lists = {name: (field.get("anyOf") or [field])[0] for name, field in schema.items()}
    kinds = {
        name: KINDS.get(field["items"].get("type"), axes.Neurons) for name, field in lists.items()
    }
    assert kinds.pop("neuron") is axes.Neurons
    assert get_type_hints(axes.Axes) == {**kinds, "neuron": axes.Neurons}


@pytest.mark.parametrize("function", [snnbench.run, snnbench.check, snnbench.quick])
def test_a_notebook_finds_the_axes_in_the_signature(function):
    keywords = inspect.signature(function).parameters
    assert {*axes.NetworkAxes.__annotations__, "neuron", "device"} <= {*keywords}


def test_an_editor_sees_every_name_of_the_package():
    tree = ast.parse((ROOT / "bench" / "__init__.py").read_text())
    (shown,) = [node for node in tree.body if isinstance(node, ast.If)]
    names = {
        alias.asname: f".{node.module}"
        for node in shown.body
        for alias in node.names
        if alias.asname == alias.name
    }
    assert names == snnbench._HOMES


def test_a_flag_is_no_number():
    assert get_args(axes.Flag)[0] is bool and get_args(axes.Whole)[0] is int
