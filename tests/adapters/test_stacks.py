"""More than one layer, through the program that the worker drives: each framework's other
constructions, and our own."""

import gc

import numpy as np
import pytest
import torch
from support.command_line import ALL_PHASES
from support.expected import adapter_of
from support.networks import network_of
from support.proofs import loaded, proof_of
from support.slow import representatives
from torch.multiprocessing.reductions import StorageWeakRef

from snnbench.core.case import Case
from snnbench.kernels.linear_lif.split_formats import TIERS
from snnbench.kernels.spec import NEURONS
from snnbench.proof.free_run import free_run

ODD = {"time_steps": 31, "batch": 5, "neurons": 61}
LINEAR = ("linear-split", "linear-recompute", "linear-split-recompute")


@pytest.mark.parametrize(
    "changes", [{}, {"input": "dense", "bias": False}, {"input_grad": False}], ids=str
)
@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("construction", LINEAR)
def test_our_linear_constructions_stack(construction, layers, changes):
    case = Case("fused", construction, layers=layers, **ODD, **changes)
    proof = proof_of(adapter_of("fused"), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("construction", representatives(LINEAR, []))
def test_compiled_they_stack_too(construction):
    case = Case("fused", construction, "compile", layers=2, **ODD)
    proof = proof_of(adapter_of("fused"), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize(
    ("construction", "precision", "between"),
    [
        ("default", "fp32", torch.float32),
        ("default", "bf16", torch.bfloat16),
        ("default", "amp-bf16", torch.bfloat16),
        ("linear-recompute", "bf16", torch.bfloat16),
        ("linear-split", "fp32", TIERS["fp32"].dtype),
        ("linear-split-recompute", "fp32", TIERS["fp32"].dtype),
    ],
)
def test_no_float32_spikes_lie_between_our_layers_where_the_next_product_is_short(
    construction, precision, between
):
    case = Case("fused", construction, precision=precision, layers=3, **ODD)
    program, problem = loaded(adapter_of("fused"), case)
    result = program.forward(program.put_input(problem.input))
    first, second, last = result.borders.values()
    assert [first.dtype, second.dtype] == [between] * 2
    assert last.dtype == (between if precision != "fp32" else torch.float32)
    assert all(0.05 < border.mean() < 0.4 for border in program.spikes(result).values())


@pytest.mark.parametrize(
    ("construction", "held"), [("linear-split", 3), ("linear-recompute", 1), ("default", 1)]
)
def test_while_memory_is_weighed_only_the_framework_holds_hidden_spikes(construction, held):
    case = Case("fused", construction, layers=3, **ODD)
    program, problem = loaded(adapter_of("fused"), case)
    made = []
    for layer in program.network.layers:
        layer.register_forward_hook(
            lambda _, x, spikes: made.append(StorageWeakRef(spikes.untyped_storage()))
        )
    x = program.put_input(problem.input)
    result = program.forward(x)
    assert len(result.borders) == 3 and len(made) == 3
    made.clear()
    program.holds_borders = False
    result = program.forward(x)
    gc.collect()
    assert len(result.borders) == 1 and len(made) == 3
    assert sum(not storage.expired() for storage in made) == held
    program.backward(result, program.put_upstream(problem.upstream, result))


@pytest.mark.parametrize("neuron", ["soft", "hard", "none", "soft-undecayed", "hard-straight"])
def test_every_layer_of_a_stack_fires(neuron):
    case = Case("any", neuron=NEURONS[neuron], layers=5, **ODD)
    free = free_run(case, network_of(case))
    assert free.unsuitable is None and len(free.rates) == 5
    rates = list(free.rates.values())
    assert max(rates) / min(rates) < 2.5
    if neuron == "soft":
        assert np.allclose(rates, 0.15, atol=0.03)


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize("frameworks", [["torch", "fused:linear-split-recompute"], ["jax"]])
def test_a_stack_goes_through_the_whole_bench(snnbench, frameworks):
    """Proved, weighed, timed, ranked: a group of its own, apart from one layer."""
    grid = 'layers = [1, 3]\nneurons = [97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]\n'
    ended = snnbench.run(snnbench.config(frameworks, grid=grid, measure=ALL_PHASES))
    assert ended.exit_code == 0, ended.stderr
    assert sorted(row["layers"] for row in ended.rows) == sorted("13" * len(frameworks))
    assert all(
        1 <= int(row["rank_low"]) <= int(row["rank_high"]) <= len(frameworks) for row in ended.rows
    )
    phases = ("forward", "backward", "step", "inference")
    for record in ended.records:
        layers = record["case"]["layers"]
        assert len(record["proof"]["gains"]) == len(record["proof"]["oracle_rates"]) == layers
        assert all(record["parts"][phase]["timing"] and record["memory"][phase] for phase in phases)
    for row in ended.rows:
        assert (
            row["proved"] == "true"
            and float(row["grad_error"]) < 1e-5
            and 0.05 < float(row["firing_rate"]) < 0.3
        )
        assert all(row[f"{phase}_floor_s"] for phase in phases)
    assert "3 layers" in (ended.folder / "report.html").read_text()
