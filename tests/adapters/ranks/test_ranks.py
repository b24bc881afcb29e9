"""What ranks compute together equals what one computes alone, in float64 to rounding."""

import numpy as np
import pytest
import torch
from support.gloo import of_ranks
from support.networks import network_of
from support.proofs import problem_of

from snnbench.adapters import registry
from snnbench.adapters.base import torch_program
from snnbench.core.case import Case
from snnbench.core.rolling import rolled
from snnbench.core.sharded import AXIS, parts

SIZES = {"neurons": 31, "layers": 3, "time_steps": 50, "batch": 5}


def gradients(program, problem, x, upstream):
    """Spikes of the last neuron, gradients of the parameters, and of the input."""
    result = program.forward(program.put_input(x))
    result = program.backward(result, program.put_upstream(upstream, result))
    named = {
        f"{node}.{name}": array
        for node, own in result.gradients.items()
        for name, array in own.items()
    }
    return {
        "spikes": result.borders[problem.last].detach(),
        **named,
        "input": result.input_gradient,
    }


def of_rank(rank, count, case):
    from snnbench.adapters.ranks.member import member_of

    torch_program.DTYPES["fp32"] = torch.float64  # a spawned process has the usual ones
    member = member_of(
        registry.load(registry.FRAMEWORKS[case.framework]), case, network_of(case), rank
    )
    problem, axis = problem_of(case), AXIS[case.parallel]
    member.program.load(problem.parameters)
    before = (slice(None),) * axis
    x, upstream = (
        np.ascontiguousarray(array[(*before, member.items)])
        for array in (problem.input, problem.upstream)
    )
    return gradients(member.program, problem, x, upstream)


def together(case, folder):
    """By name the largest relative L2 error, and whether all ranks have the same bits of what
    they must have alike."""
    given, axis = of_ranks(of_rank, case.ranks, folder, case), AXIS[case.parallel]
    alone = Case(**{**vars(case), "ranks": None, "parallel": None})
    problem, adapter = problem_of(alone), registry.load(registry.FRAMEWORKS[case.framework])
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
    monkeypatch.setitem(torch_program.DTYPES, "fp32", torch.float64)
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


def test_what_ranks_have_in_parts_is_rolled_there():
    from snnbench.core.sharded import Spread

    sent, dropped = [], []
    given = Spread(
        1, np.arange(12.0).reshape(3, 4), sent.append, lambda array: None, lambda: dropped.append(1)
    )
    assert rolled(given, 7, given) is given
    np.testing.assert_array_equal(sent[0], rolled(np.arange(12.0).reshape(3, 4), 7))
    del given
    assert dropped == [1]
