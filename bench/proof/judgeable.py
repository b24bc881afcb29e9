"""Finds the settings that no proof can judge: gradients that a format cannot hold, and gradients of
which rounding decides more than a wrong one would change. The reference runs alone show them,
before any framework runs, so that the same settings are refused in every framework."""

from dataclasses import replace
from functools import cache
from math import inf, isfinite, prod

import numpy as np

from ..core.case import Case
from ..core.network import INPUT, Network
from ..core.status import OWN_SIZE
from ..workloads import Workload
from ..workloads.base import Build
from . import oracle
from .calibration import small_problem
from .judge import upstream_of
from .noise import by_place, noise_of
from .problem import Gains, Problem, generate, is_chain, places, problem_case

MOST_SCALE = 0.1
"""Largest change by rounding of the gradient that it changes least: one that is 15 % too small must
show."""
ONLY_NOISE = 1.0
"""Change of any gradient from which on it is only noise. Those of few numbers may change by more
than MOST_SCALE: that of a learned decay is one sum of terms that cancel."""
SCREENED = 8
"""Part of MOST_SCALE up to which two runs suffice."""
HEADROOM = 8
"""Factor by which the upstream gradient is larger in the runs, so that a framework's own way of
summing does not overflow either."""
MOST_VALUES, MOST_PARAMETERS = 2**20, 2**24
"""Values up to which as many batch items are run as fit; networks with more parameters are judged
by their small problems alone."""


def unjudgeable(case: Case, workload: Workload, network: Network, gains: Gains) -> str | None:
    """Returns the reason why the gradients of `case` cannot be judged, or None. `network` is that
    of the case with its `gains`."""
    if case.native:
        return None
    return unjudgeable_small(case, workload) or _at_own_size(case, network, gains)


def unjudgeable_small(case: Case, workload: Workload, most_values: float = inf) -> str | None:
    """Returns the reason of the small problems in fp32 and in the precision of the case, which all
    its sizes share. Those of more than `most_values` values have none."""
    for precision in dict.fromkeys(["fp32", case.precision]):
        small = workload.small_case(problem_case(replace(case, precision=precision)))
        values = small.time_steps * small.batch * _values(workload.network(small))
        if values <= most_values and (reason := _of_small(small, workload.network)):
            return f"small problem, {precision}: {reason}"
    return None


@cache
def _of_small(small: Case, build: Build) -> str | None:
    return unjudgeable_gradient(small_problem(small, build(small).bare()))


def _at_own_size(case: Case, network: Network, gains: Gains) -> str | None:
    values = case.time_steps * _values(network)
    parameters = sum(
        prod(shape) for shapes in network.parameters.values() for shape in shapes.values()
    )
    items = min(case.batch, MOST_VALUES // values)
    if is_chain(network) and items and parameters <= MOST_PARAMETERS:
        problem = generate(case, network, gains)
        batch_axis = 1 if case.loss is None else 0
        upstream = problem.upstream.take(range(items), batch_axis)
        x, other = problem.input[:, :items], problem.other_input[:, :items]
        of_items = replace(problem, input=x, other_input=other, upstream=upstream)
        if reason := unjudgeable_gradient(of_items):
            return f"{OWN_SIZE}, {case.precision}: {reason}"
    return None


def _values(network: Network) -> int:
    """Number of values of all nodes in a time step of an item."""
    return sum(prod(shape) for shape in network.shapes.values())


def unjudgeable_gradient(problem: Problem) -> str | None:
    """Returns the reason why a gradient of the problem cannot be judged, or None."""
    larger = problem if problem.loss else replace(problem, upstream=HEADROOM * problem.upstream)
    network, named = problem.network, places(problem.network)
    run = oracle.forward(network, problem.parameters, problem.input)
    expected = oracle.backward(network, run, upstream_of(larger, run))
    sizes = {
        place: float(np.linalg.norm(oracle.whole(value)))
        for place, value in by_place(expected).items()
    }
    for runs in (2, None):
        noise = noise_of(
            network,
            problem.parameters,
            problem.input,
            run.spikes,
            lambda result: upstream_of(larger, result),
            expected,
            problem.precision,
            runs,
        )
        if all(each.scale <= MOST_SCALE / SCREENED for each in noise.values()):
            return None
    scales = {place: each.scale for place, each in noise.items() if sizes[place] > 0}
    for (node, key), scale in sorted(scales.items(), key=lambda item: -item[1]):
        of = "input" if node == INPUT else f"{key} of {named[node]}".removesuffix(" of ")
        if not isfinite(scale):
            return (
                f"the gradient of the {of} is more than {problem.precision} holds, so no framework "
                "can compute it"
            )
        if scale > ONLY_NOISE or min(scales.values()) > MOST_SCALE:
            return (
                f"rounding in {problem.precision} changes the gradient of the {of} by up to "
                f"{scale:.0%}, so a wrong one would not show"
            )
    return None
