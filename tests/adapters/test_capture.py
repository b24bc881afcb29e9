"""What of the frameworks a CUDA graph can hold, as far as it shows without a GPU: nothing in a step reads a number back.

On CUDA devices some frameworks run other code than here; that mode `graph` says so in a sentence is in test_cuda_graph.py.
"""

import sys

import pytest
import torch

from snnbench.adapters import TorchAdapter, registry
from snnbench.adapters.base.case import Case
from snnbench.environments.recipes import load_recipes
from snnbench.proof.problem import calibrate, generate
from snnbench.run.variants import twins

pytestmark = pytest.mark.frameworks

ODD = {"time_steps": 23, "batch": 3, "neurons": 31}
READS = ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy", "cpu", "nonzero")
ELSEWHERE = {name for recipe in load_recipes().values() for name in recipe.adapters}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.setitem(sys.modules, "samna", None)


def variants():
    """(framework, construction, a neuron of it) of everything here that mode `graph` offers."""
    for name in registry.BUILT_IN.keys() - ELSEWHERE:
        adapter = registry.load(registry.BUILT_IN[name])
        for construction in adapter.constructions if isinstance(adapter, TorchAdapter) and "graph" in adapter.modes else ():
            for neuron in twins().values():
                if adapter.refuses(Case(name, construction, neuron=neuron, **ODD)) is None:
                    yield name, construction, neuron
                    break


class Read(Exception):
    pass


def step_that_may_not_read(adapter, case, monkeypatch):
    """Run a step, the first having been made, in which every tensor refuses to be read."""
    program = adapter.program(case)
    problem = generate(case, calibrate(case))
    program.load(problem.weights, problem.biases)
    x = program.put_input(problem.input)
    upstream = program.put_upstream(problem.upstream, program.forward(x))
    program.step(x, upstream)
    with monkeypatch.context() as patched:
        for name in READS:
            patched.setattr(torch.Tensor, name, reading(name))
        program.step(x, upstream)


def reading(name):
    def read(tensor, *_, **__):
        raise Read(name)

    return read


@pytest.mark.parametrize(("name", "construction", "neuron"), sorted(variants(), key=lambda v: v[:2]), ids=str)
def test_a_step_reads_nothing_back(name, construction, neuron, monkeypatch):
    case = Case(name, construction, neuron=neuron, layers=2, **ODD)
    step_that_may_not_read(registry.load(registry.BUILT_IN[name]), case, monkeypatch)


def test_reading_is_noticed(monkeypatch):
    """Planted: a neuron that looks whether anything fired."""
    adapter = registry.load(registry.BUILT_IN["torch"])

    class Looks(type(adapter)):
        def neuron(self, spec, features):
            neuron = super().neuron(spec, features)
            forward = neuron.forward

            def looking(currents):
                spikes = forward(currents)
                return spikes if spikes.any() else torch.zeros_like(spikes)

            neuron.forward = looking
            return neuron

    with pytest.raises(Read, match="__bool__"):
        step_that_may_not_read(Looks(), Case("torch", **ODD), monkeypatch)
