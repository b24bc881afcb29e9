"""Native neurons have no oracle. Shown instead: spikes come out, time is the right axis, and gradients follow it."""

from dataclasses import replace

import numpy as np

from snnbench.adapters.base.contract import Gradients, Unsupported

from .gradients import gradients_of
from .judge import Verdict, not_spikes
from .problem import Problem

LEAST_RATE, MOST_DOUBLINGS = 0.02, 8


def excited(program, problem: Problem) -> tuple[Problem, float]:
    """`problem` on 2^k times its inputs, and 2^k: the smallest k ≤ 8 at which there are 2 spikes in 100 steps of a neuron.

    Each framework scales currents in its own way, and a neuron that is silent shows nothing. Raises Unsupported if none does.
    """
    for k in range(MOST_DOUBLINGS + 1):
        factor = np.float32(2**k)
        result = program.inference(program.put_input(factor * problem.input))
        program.wait(result)
        rate = program.spikes(result)[-1].mean()
        if not rate < LEAST_RATE:  # NaN is for the judge to name
            return replace(problem, input=factor * problem.input, other_input=factor * problem.other_input), float(factor)
    raise Unsupported(f"unsuitable problem: fires at {rate:.1%} even on {2**MOST_DOUBLINGS} times the input")


def judge_native(program, problem: Problem, tolerance: float, backward: bool = True) -> Verdict:
    """A call, another with other input, and the first again: what comes out are spikes, and gradients exist, flow backward
    in time, stay within their batch item, and repeat to a relative L2 distance of `tolerance`: no state may survive a call,
    and one that moves no spike still moves surrogates.
    """
    verdict = Verdict(wrong_decisions=None, distance=None)
    x, other = program.put_input(problem.input), program.put_input(problem.other_input)
    result = program.forward(x)
    program.wait(result)
    borders = program.spikes(result)
    verdict.firing_rate = float(borders[-1].mean())
    for border in borders:
        if border.shape != problem.upstream.shape:
            verdict.findings.append(f"spikes have shape {border.shape}, not (T, B, N) = {problem.upstream.shape}")
        elif finding := not_spikes(border, np.inf):
            verdict.findings.append(f"spikes {finding}")
    if verdict.findings or not backward:
        return verdict
    half = max(1, len(problem.upstream) // 2)
    early = problem.upstream.copy()
    early[half:], early[:, 1:] = 0, 0
    early, whole = (program.put_upstream(array, result) for array in (early, problem.upstream))
    first, failed = _released(program, result, early)
    if not failed:
        _, failed = _released(program, program.forward(other), whole)
    if not failed:
        again, failed = _released(program, program.forward(x), early)
    verdict.findings = [failed] if failed else _faults(problem, first, again, half, tolerance)
    return verdict


def _released(program, result, upstream):
    program.wait(result)
    program.release()
    return gradients_of(program, result, upstream)


def _faults(problem: Problem, first: Gradients, again: Gradients, half: int, tolerance: float) -> list[str]:
    """What is wrong with the gradients of the spikes of item 0 before step `half`, of two equal calls."""
    wanted = [*_named("weight", problem.weights, first.weights, again.weights)]
    wanted += _named("bias", problem.biases, first.biases, again.biases)
    if first.input is not None:
        wanted.append(("input", first.input, again.input))
    faults = []
    for name, given, repeated in wanted:
        if given is None or repeated is None:
            faults.append(f"the gradient of the {name} is missing")
        elif not (np.isfinite(given).all() and np.isfinite(repeated).all()):
            faults.append(f"the gradient of the {name} holds NaN or infinity")
        elif not given.any():
            faults.append(f"the gradient of the {name} is zero")
        elif np.linalg.norm(repeated - given) > tolerance * np.linalg.norm(given):
            faults.append(f"the same call gave another gradient of the {name} when repeated: state leaks between calls")
    if not faults and first.input is not None:
        if first.input[half:].any():
            faults.append("looks ahead: earlier spikes have a gradient by later input")
        if first.input[:, 1:].any():
            faults.append("batch items influence each other: spikes of one have a gradient by the input of others")
    return faults


def _named(name: str, parameters: list, first: list, again: list):
    """(name, gradient, gradient again) of the parameters that there are."""
    several = len(parameters) > 1
    for index, parameter in enumerate(parameters):
        if parameter is not None:
            yield f"{name} of layer {index + 1}" if several else name, first[index], again[index]
