"""A right call on the problem of a case, to be spoiled and judged."""

from dataclasses import replace

import numpy as np

from snnbench.core.case import Case
from snnbench.core.result import Gradients
from snnbench.proof import oracle
from snnbench.proof.judge import JudgedCall, judge
from snnbench.proof.limits import limits_of

from .proofs import problem_of

CASE = Case("any", neurons=97, time_steps=37, batch=3)


class Right:
    """Spikes and gradients as a framework hands them out."""

    def __init__(self, case=CASE, gains=None):
        self.case, self.problem = case, problem_of(case, gains)
        problem, network = self.problem, self.problem.network
        self.run = oracle.forward(network, problem.parameters, problem.input)
        self.spikes = {name: array.astype(np.float32) for name, array in self.run.spikes.items()}
        self.limits = limits_of(case, network)
        given, of_input = oracle.backward(network, self.run, problem.upstream)
        parameters = {
            n: {k: oracle.whole(a).astype(np.float32) for k, a in arrays.items()}
            for n, arrays in given.items()
        }
        self.gradients = Gradients(parameters, oracle.whole(of_input).astype(np.float32))

    def verdict(self, gradients=True, **limits):
        given = self.gradients if gradients else None
        allowed = {name: replace(limit, **limits) for name, limit in self.limits.items()}
        return judge(
            self.problem, JudgedCall(self.problem.input, self.spikes, gradients=given), allowed
        )

    def finding(self, **how):
        (finding,) = self.verdict(**how).findings
        return finding

    def flip(self, near, neuron="neuron1", count=1):
        """Flip decisions of the last step, which no later one follows, where v is nearest to
        `near`; their places."""
        last = self.run.potentials[neuron][-1]
        places = [
            np.unravel_index(i, last.shape)
            for i in np.argsort(np.abs(last - near), axis=None)[:count]
        ]
        for b, n in places:
            self.spikes[neuron][-1, b, n] = 1 - self.spikes[neuron][-1, b, n]
        return [(self.case.time_steps - 1, int(b), int(n)) for b, n in places]
