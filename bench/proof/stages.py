"""Proves that a framework computes the network of a case: small problem, time axis, then the case's own size."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import Adapter, FixedPoint, Unsupported

from ..cores import usable_cores
from .diagnosis.diagnose import diagnose
from .gradients import gradients_of
from .judge import Limits, Verdict, judge, limits
from .native import excited, judge_native
from .problem import Problem, calibrate, generate, proved, small, spec_of
from .stage_names import OWN_SIZE, TIME_AXIS
from .time_axis import time_axis

UNSTEADY = 1e-3
"""The share of its spikes that a native neuron may change when a call is repeated; where there is an oracle it decides."""

MOST_ROUNDED = 0.1
"""The relative L2 change of weights above which a construction in fixed point is given another network."""

SETTLE_SECONDS = 0.2
"""How long outputs are watched after a failed proof, to tell wrong numbers from numbers still being written."""


@dataclass
class Stage:
    """One judged problem of the proof."""

    name: str
    case: Case
    verdict: Verdict

    def as_dict(self) -> dict:
        verdict = {**asdict(self.verdict), "passed": self.verdict.passed, "grad_error": self.verdict.grad_error}
        sizes = {key: getattr(self.case, key) for key in ("time_steps", "batch", "neurons", "precision", "input")}
        return {"name": self.name, **sizes, **verdict}


@dataclass
class Proof:
    stages: list[Stage] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(stage.verdict.passed for stage in self.stages)

    @property
    def reason(self) -> str | None:
        failed = next((stage for stage in self.stages if not stage.verdict.passed), None)
        return f"{failed.name}: {'; '.join(failed.verdict.findings)}" if failed else None

    def as_dict(self) -> dict:
        return {"passed": self.passed, "reason": self.reason, "stages": [stage.as_dict() for stage in self.stages]}


def prove(
    adapter: Adapter,
    case: Case,
    gains: list[float],
    sleep: Callable[[float], None] = time.sleep,
    backward_fits: bool = True,
) -> Proof:
    """The whole proof of `case`; `gains` belong to `proved(case)`. Stops at the first stage that fails.

    Where memory does not hold the backward of the case's own size, its gradients are proved at the small size only. A native
    neuron is held against nothing: it is shown to spike, and to have the right time axis. Raises Unsupported if it is silent.
    """
    proof = Proof()
    for name, stage_case in _stages(case, adapter.fixed_point(case)):
        backward = backward_fits or not name.startswith(OWN_SIZE)
        stage_gains = gains if stage_case == proved(case) else calibrate(stage_case)
        adapter.prepare(stage_case, len(usable_cores()))
        fixed = adapter.fixed_point(stage_case)
        problem = problem_of(stage_case, stage_gains, fixed)
        program = adapter.program(stage_case)
        program.load(problem.weights, problem.biases)
        if case.native:
            problem, _ = excited(program, problem)
        if name.endswith(TIME_AXIS):
            verdict = time_axis(program, problem, UNSTEADY if case.native else 0.0)
        elif case.native:
            verdict = judge_native(program, problem, limits_of(stage_case).gradient, backward)
        else:
            verdict = judge_program(program, problem, limits_of(stage_case, fixed), sleep, backward)
        proof.stages.append(Stage(name, stage_case, verdict))
        if not verdict.passed:
            break
    adapter.prepare(case, len(usable_cores()))
    return proof


def _stages(case: Case, fixed: FixedPoint | None):
    """fp32 first, and without fixed point: that is what proves the constants. The time axis and the own size as the case is."""
    if case.native:
        yield f"small problem, {case.precision}, {TIME_AXIS}", small(case)
        yield f"small problem, {case.precision}, gradients", small(replace(case, input_grad=True))
        yield f"{OWN_SIZE}, {case.precision}", proved(case)
        return
    if fixed:
        for kind in dict.fromkeys(["spikes", case.input]):
            yield f"small problem, {fixed.exact}, {kind}", small(replace(case, construction=fixed.exact, precision="fp32"), kind)
    for precision in dict.fromkeys(["fp32", case.precision]):
        for kind in dict.fromkeys(["spikes", case.input]):
            yield f"small problem, {precision}, {kind}", small(replace(case, precision=precision), kind)
    yield f"small problem, {case.precision}, {TIME_AXIS}", small(case)
    yield f"{OWN_SIZE}, {case.precision}", proved(case)


def limits_of(case: Case, fixed: FixedPoint | None = None) -> Limits:
    def in_format(precision):
        inputs = 1 if case.workload == "lif" else case.neurons
        return limits(precision, spec_of(case), inputs, case.time_steps, case.batch, case.layers)

    if fixed is None:
        return in_format(case.precision)
    own, most = in_format(case.precision), in_format("bf16")
    return Limits(
        min(own.decisions + fixed.decisions, most.decisions),
        min(own.distance + fixed.distance, most.distance),
        min(own.gradient + fixed.gradient, most.gradient),
        min(own.bias_gradient + fixed.gradient, most.bias_gradient),
    )


def problem_of(case: Case, gains: list[float], fixed: FixedPoint | None) -> Problem:
    """The problem of `case`; its weights are ones that a construction in fixed point can hold.

    Raises Unsupported if it would then be another network.
    """
    problem = generate(case, gains)
    if fixed is None:
        return problem
    step, least, most = (np.float32(value) for value in (fixed.weight_step, fixed.least_weight, fixed.most_weight))
    rounded = [np.clip(np.round(weight / step) * step, least, most) for weight in problem.weights]
    for before, after in zip(problem.weights, rounded, strict=True):
        if (change := np.linalg.norm(after - before) / np.linalg.norm(before)) > MOST_ROUNDED:
            raise Unsupported(f"its fixed point would change the weights of this problem by {change:.0%}")
    return replace(problem, weights=rounded)


def judge_program(program, problem: Problem, limit: Limits, sleep=time.sleep, backward: bool = True) -> Verdict:
    """Judge the second call, after one with another input: no state, and no gradient through it, may survive."""
    first = program.forward(program.put_input(problem.other_input))
    program.wait(first)
    upstream = program.put_upstream(problem.upstream, first)
    _, failed = gradients_of(program, first, upstream) if backward else (None, None)
    program.release()
    result = program.forward(program.put_input(problem.input))
    program.wait(result)
    borders = program.spikes(result)
    gradients = None
    if backward and not failed:
        gradients, failed = gradients_of(program, result, upstream)
    verdict = judge(problem, problem.input, borders, None, limit)
    if verdict.passed and failed:
        verdict.findings.append(failed)
    elif verdict.passed and gradients is not None:
        verdict = judge(problem, problem.input, borders, gradients, limit)
    if not verdict.passed:
        sleep(SETTLE_SECONDS)
        later = program.spikes(result)
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(borders, later, strict=True)):
            verdict.findings.insert(0, "the spikes still changed after the call was waited for: asynchronous without a sync")
        else:
            # The verdict stands, whatever a strange output makes the diagnosis trip over.
            with suppress(ArithmeticError, LookupError, ValueError, TypeError):
                if named := diagnose(problem, borders, gradients, limit):
                    verdict.findings.insert(0, named)
    return verdict
