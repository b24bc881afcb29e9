"""Where a surrogate ends abruptly, rounding decides whether a gradient passes: no framework is
rejected for that."""

from dataclasses import replace

import numpy as np
import pytest
from support.right_call import CASE, Right

from snnbench.core.result import Gradients
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof import oracle


@pytest.mark.parametrize(("off", "passes"), [(0.3, True), (-0.3, True), (30.0, False)])
def test_a_surrogate_that_ends_abruptly_may_end_a_rounding_earlier_or_later(off, passes):
    """Two potentials lie `off` times the distance that is allowed from an edge, and the
    framework takes them for beyond it."""
    spec = NeuronSpec("hard", decay=0.5, surrogate="rectangle", slope=1.0)
    right = Right(replace(CASE, workload="lif", bias=False, neuron=spec))
    distance, network = right.limits["neuron1"].distance, right.problem.network
    x = right.problem.input.copy()
    x[0, 0, :2] = spec.threshold + 0.5 / spec.slope - off * distance
    right.problem.input = x
    right.run = oracle.forward(network, {}, x)
    right.spikes = {name: array.astype(np.float32) for name, array in right.run.spikes.items()}
    framework = oracle.forward(
        network, {}, x, right.run.spikes, wider={"neuron1": -1.5 * off * distance}
    )
    _, by_input = oracle.backward(network, framework, right.problem.upstream)
    right.gradients = Gradients({}, by_input.astype(np.float32))
    assert right.verdict().passed is passes
    assert passes or "the gradient of the input is off by" in right.finding()


@pytest.mark.parametrize(("allowed", "passes"), [(1.5, True), (0.5, False)])
def test_either_of_two_nearly_equal_maxima_may_have_the_gradient(allowed, passes):
    """The framework takes a potential for the largest that is less by as much as rounding may
    change, times 1/`allowed`."""
    right = Right(replace(CASE, workload="max-time"))
    network, parameters, x = right.problem.network, right.problem.parameters, right.problem.input
    second, first = np.sort(right.run.values["integrator"], axis=0)[-2:]
    apart = float((first - second).min() / np.abs(right.run.values["integrator"]).max())
    limit = replace(right.limits["max_time"], gradient=allowed * apart)
    right.limits = {**right.limits, "max_time": limit}
    framework = oracle.forward(
        network, parameters, x, right.run.spikes, wider={"max_time": 1.01 * apart}
    )
    by_parameter, by_input = oracle.backward(network, framework, right.problem.upstream)
    right.gradients = Gradients(
        {
            node: {name: oracle.whole(value).astype(np.float32) for name, value in named.items()}
            for node, named in by_parameter.items()
        },
        oracle.whole(by_input).astype(np.float32),
    )
    assert right.verdict().passed is passes
    assert passes or any("gradient" in finding for finding in right.verdict().findings)
