"""The examples in the docstrings of what users call."""

import doctest
import importlib

import pytest
import torch

from snnbench import kernels


@pytest.mark.parametrize(
    "name",
    [
        "lif.functional",
        "lif.integrator",
        "lif.module",
        "linear.module",
        "linear_lif.module",
        "batch_norm_lif.module",
        "conv_lif.module",
        "events.packed",
        "recurrent.functional",
        "recurrent.module",
    ],
)
def test_examples_run_as_written(name):
    module = importlib.import_module(f"snnbench.kernels.{name}")
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    results = doctest.testmod(module, extraglobs={"torch": torch, **names})
    assert results.attempted and not results.failed
