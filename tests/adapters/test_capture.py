"""What of the frameworks a CUDA graph can hold, as far as it shows without a GPU: nothing in a step
reads a number back.

On CUDA devices some frameworks run other code than here; that mode `graph` says so in a sentence is
in test_cuda_graph.py.
"""

import pytest
import torch
from support.expected import HERE, adapter_of, case_of
from support.proofs import loaded, refusal_of

from snnbench.adapters import TorchAdapter
from snnbench.core.case import Case
from snnbench.runner.variants import twins

pytestmark = pytest.mark.frameworks

ODD = {"time_steps": 23, "batch": 3, "neurons": 31}
READS = (
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "item",
    "tolist",
    "numpy",
    "cpu",
    "nonzero",
)


def variants():
    """A case of everything here that mode `graph` offers, with the first neuron that it has."""
    for name in HERE:
        adapter = adapter_of(name)
        for construction in (
            adapter.constructions
            if isinstance(adapter, TorchAdapter) and "graph" in adapter.modes
            else ()
        ):
            cases = (
                case_of(f"{name}:{construction}", neuron, layers=2, **ODD) for neuron in twins()
            )
            yield from [case for case in cases if refusal_of(adapter, case) is None][:1]


class Read(Exception):
    pass


def step_that_may_not_read(adapter, case, monkeypatch):
    """Run a step, the first having been made, in which every tensor refuses to be read."""
    program, problem = loaded(adapter, case)
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


@pytest.mark.parametrize("case", list(variants()), ids=lambda case: case.framework_variant)
def test_a_step_reads_nothing_back(case, monkeypatch):
    step_that_may_not_read(adapter_of(case.framework), case, monkeypatch)


def test_reading_is_noticed(monkeypatch):
    """Planted: a neuron that looks whether anything fired."""
    adapter = adapter_of("torch")

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
