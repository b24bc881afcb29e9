"""What ranks and devices compute together equals what one computes alone, in float64 to rounding."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from support.gloo import of_ranks
from support.networks import network_of
from support.paths import ROOT
from support.proofs import problem_of

from snnbench.adapters import registry
from snnbench.adapters.base import torch_program
from snnbench.adapters.base.case import Case
from snnbench.adapters.base.ranks.parts import AXIS, parts
from snnbench.adapters.base.rolling import rolled

SIZES = {"neurons": 31, "layers": 3, "time_steps": 50, "batch": 5}


def double(monkeypatch):
    monkeypatch.setitem(torch_program.DTYPES, "fp32", torch.float64)


def gradients(program, problem, x, upstream):
    """Spikes of the last neuron, gradients of the parameters, and of the input."""
    result = program.forward(program.put_input(x))
    result = program.backward(result, program.put_upstream(upstream, result))
    named = {f"{node}.{name}": array for node, own in result.gradients.items() for name, array in own.items()}
    return {"spikes": result.borders[problem.last].detach(), **named, "input": result.input_gradient}


def of_rank(rank, count, case):
    from snnbench.adapters.base.ranks.member import member_of

    member = member_of(registry.load(registry.BUILT_IN[case.framework]), case, network_of(case), rank)
    problem, axis = problem_of(case), AXIS[case.parallel]
    member.program.load(problem.parameters)
    before = (slice(None),) * axis
    x, upstream = (np.ascontiguousarray(array[(*before, member.own)]) for array in (problem.input, problem.upstream))
    return gradients(member.program, problem, x, upstream)


def together(case, folder):
    """By name the largest relative L2 error, and whether all ranks have the same bits of what they must have alike."""
    given, axis = of_ranks(of_rank, case.ranks, folder, case), AXIS[case.parallel]
    alone = Case(**{**vars(case), "ranks": None, "parallel": None})
    problem, adapter = problem_of(alone), registry.load(registry.BUILT_IN[case.framework])
    program = adapter.program(alone, network_of(alone))
    program.load(problem.parameters)
    expected = gradients(program, problem, problem.input, problem.upstream)
    errors, alike = {}, True
    for name, right in expected.items():
        shared = name in ("spikes", "input")
        own = torch.cat([each[name] for each in given], axis) if shared else given[0][name]
        errors[name] = float((own - right).norm() / right.norm())
        alike &= shared or all(torch.equal(each[name], own) for each in given)
    return errors, alike


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("parallel", ["data", "time"])
@pytest.mark.parametrize("name", ["torch", "fused:reference"])
def test_float64_gradients_equal_those_of_one_rank(monkeypatch, tmp_path, name, parallel, count):
    double(monkeypatch)
    framework, _, construction = name.partition(":")
    case = Case(framework, construction or "default", parallel=parallel, ranks=count, **SIZES)
    errors, alike = together(case, tmp_path / "ranks")
    assert alike and errors.pop("spikes") == 0
    assert max(errors.values()) <= 1e-12, errors


@pytest.mark.parametrize(("count", "ranks"), [(7, 2), (5, 4), (37, 3), (4, 4)])
def test_parts_are_all_and_nearly_equal(count, ranks):
    own = parts(count, ranks)
    assert [index for part in own for index in range(count)[part]] == list(range(count))
    sizes = [part.stop - part.start for part in own]
    assert max(sizes) - min(sizes) <= 1 and min(sizes) >= 1 and sizes == sorted(sizes, reverse=True)


IN_JAX = """
import json, sys
sys.path.insert(0, "tests")
import jax
jax.config.update("jax_enable_x64", {double})
from snnbench.adapters import registry
from snnbench.adapters.base import jax_program
from snnbench.adapters.base.case import Case
from support.networks import network_of
from support.proofs import problem_of
if {double}:
    jax_program.DTYPES["fp32"] = jax.numpy.float64
adapter, found = registry.load(registry.BUILT_IN["jax"]), []
for ranks in ({ranks}, None):
    case = Case("jax", ranks=ranks, parallel=ranks and "{parallel}", **{sizes})
    problem = problem_of(case)
    adapter.prepare(case, 1)
    program = adapter.program(case, network_of(case))
    program.load(problem.parameters)
    result = program.forward(program.put_input(problem.input))
    result = program.backward(result, program.put_upstream(problem.upstream, result))
    named = {{f"{{node}}.{{name}}": a for node, own in result.gradients.items() for name, a in own.items()}}
    found.append({{**named, "input": result.input_gradient, "output": result.output}})
import numpy as np
own, right = ({{name: np.asarray(a, np.float64) for name, a in each.items()}} for each in found)
print(json.dumps({{name: np.linalg.norm(own[name] - right[name]) / np.linalg.norm(right[name]) for name in right}}))
"""
NETWORK = {"workload": "cifar-small", "width": 3, "image": 12, "classes": 7, "time_steps": 5, "batch": 6, "norm": True}
NETWORK |= {"layers": None, "neurons": None, "bias": None, "loss": "cross-entropy"}


@pytest.mark.parametrize(
    ("sizes", "ranks", "limit"),
    [(SIZES, 4, 1e-12), ({**SIZES, "batch": 8}, 4, 1e-12), (NETWORK, 4, 2e-5)],
    ids=["5", "8", "norms"],
)
def test_devices_of_jax_equal_one(sizes, ranks, limit):
    code = IN_JAX.format(double=limit < 1e-6, ranks=ranks, parallel="data", sizes=sizes)
    environment = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={ranks}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    errors = json.loads(done.stdout)
    assert max(errors.values()) <= limit, errors


def test_what_ranks_have_in_parts_is_rolled_there():
    from snnbench.adapters.base.ranks.parts import Spread

    sent, dropped = [], []
    given = Spread(1, np.arange(12.0).reshape(3, 4), sent.append, lambda array: None, lambda: dropped.append(1))
    assert rolled(given, 7, given) is given
    np.testing.assert_array_equal(sent[0], rolled(np.arange(12.0).reshape(3, 4), 7))
    del given
    assert dropped == [1]
