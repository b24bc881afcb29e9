"""Proves that a framework computes the network of a case: small problem, time axis, then the
case's own size."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..core.case import ABSENT, Case
from ..core.contract import Adapter, FixedPoint, OtherNetwork, Program, Unsupported
from ..core.network import Network
from ..core.status import OWN_SIZE, in_words, lacks_room
from ..machine.cores import usable_cores
from ..workloads import Workload, one_layer, workload_of
from . import oracle
from .calibration import calibrate
from .diagnosis.diagnose import named
from .diagnosis.shapes import shape_fault
from .judge import CallVerdict, JudgedCall, judge
from .limits import LimitsByNode, limits_of
from .native import ask_gradients, excited, judge_native
from .problem import Problem, generate, is_chain
from .ranks import against_one_rank
from .steps import judge_steps
from .time_axis import time_axis

Sleep = Callable[[float], None]
TIME_AXIS, TRAINING, ONE_RANK = "time axis", "training", "against one rank"
"""Beginnings and endings of the stages' names."""
UNSTEADY = 1e-3
"""Share of its spikes that a native neuron may change in a repeated call; elsewhere the oracle
decides."""
OUTLIVING = ("eager", "compile")
"""Modes whose results survive later calls."""
MOST_ROUNDED = 0.1
"""Relative L2 change of weights above which a construction in fixed point computes another
network."""
SETTLE_SECONDS = 0.2
"""Seconds for which outputs are watched after a failed proof, to tell wrong numbers from
unfinished ones."""


@dataclass
class ProofStage:
    name: str
    case: Case
    verdict: CallVerdict

    def as_dict(self) -> dict[str, Any]:
        verdict = {
            **asdict(self.verdict),
            "passed": self.verdict.passed,
            "grad_error": self.verdict.grad_error,
        }
        sizes = {
            key: getattr(self.case, key)
            for key in ("time_steps", "batch", "neurons", "precision", "input")
        }
        return {"name": self.name, **sizes, **verdict}


@dataclass
class Proof:
    """The judged stages, up to the first that failed. `loosened` names the rules that asked for
    less."""

    stages: list[ProofStage] = field(default_factory=list)
    loosened: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(stage.verdict.passed for stage in self.stages)

    @property
    def reason(self) -> str | None:
        failed = next((stage for stage in self.stages if not stage.verdict.passed), None)
        return f"{failed.name}: {'; '.join(failed.verdict.findings)}" if failed else None

    def as_dict(self) -> dict[str, Any]:
        stages = [stage.as_dict() for stage in self.stages]
        return {
            "passed": self.passed,
            "reason": self.reason,
            "loosened": self.loosened,
            "stages": stages,
        }


def prove(
    adapter: Adapter,
    case: Case,
    workload: Workload,
    gains: dict[str, float],
    sleep: Sleep = time.sleep,
    backward: bool = True,
    seeded: bool = False,
) -> Proof:
    """Proves `case` with the `gains` of its neurons, and stops at the first stage that fails.
    The network's own weights are used at its own size alone, and not even there if they are
    `seeded`. Without `backward`, for lack of memory, gradients are proved at the small size
    only. A native neuron has no reference: it must spike and have the right time axis. Raises
    Unsupported if it is silent."""
    reasons = {
        "fixed point": adapter.fixed_point(case) is not None,
        "no gradients at its own size": not backward,
    }
    proof = Proof(loosened=[words for words, holds in reasons.items() if holds])
    for name, stage_case, network in stages_of(case, workload, adapter.fixed_point(case)):
        adapter.prepare(stage_case, len(usable_cores()))
        fixed = adapter.fixed_point(stage_case)
        is_own_size = name.startswith(OWN_SIZE)
        with_backward = backward or not is_own_size
        network = network if is_own_size and not seeded else network.bare()
        problem = problem_of(
            stage_case, network, gains if is_own_size else calibrate(stage_case, network), fixed
        )
        program, limits = (
            adapter.program(stage_case, network),
            limits_of(stage_case, network, fixed),
        )
        try:
            program.load(problem.parameters)
            if case.native:
                problem, _ = excited(program, problem)
            if name.endswith(TIME_AXIS):
                verdict = time_axis(
                    program,
                    problem,
                    UNSTEADY if case.native else 0.0,
                    outlives=case.mode in OUTLIVING,
                )
            elif name.endswith(ONE_RANK):
                alone = adapter.program(replace(stage_case, parallel=ABSENT, ranks=ABSENT), network)
                alone.load(problem.parameters)
                verdict = against_one_rank(program, alone, problem, limits, case)
            elif name.endswith(TRAINING):
                verdict = judge_steps(program, problem, limits)
            elif case.native:
                verdict = judge_native(
                    program, problem, limits[problem.last].gradient, with_backward
                )
            else:
                verdict = judge_program(program, problem, limits, sleep, with_backward)
        except OtherNetwork as error:
            verdict = CallVerdict([*misshapen(program, problem), str(error)])
        except Exception as error:
            if (
                lacks_room(error)
                or isinstance(error, Unsupported)
                or not (words := misshapen(program, problem))
            ):
                raise
            verdict = CallVerdict([*words, in_words(error)])
        proof.stages.append(ProofStage(name, stage_case, verdict))
        if not verdict.passed:
            break
    adapter.prepare(case, len(usable_cores()))
    return proof


def stages_of(
    case: Case, workload: Workload, fixed: FixedPoint | None
) -> Iterator[tuple[str, Case, Network]]:
    """Yields names, cases and networks. fp32 comes first, and without fixed point: it proves the
    constants. The time axis and the own size follow the case. A network's limits are wider than
    a layer's, so that its neuron is proved in a layer first."""

    def small(name: str, kind: str, **changes: Any) -> tuple[str, Case, Network]:
        changed = workload.small_case(replace(case, **changes), kind)
        return f"small problem, {name}", changed, workload.network(changed)

    own = own_width(case, workload.network(case))
    if case.native:
        yield small(f"{case.precision}, {TIME_AXIS}", "spikes")
        yield small(f"{case.precision}, gradients", "spikes", input_grad=True)
        yield own
        return
    if case.ranks:
        if not is_chain(own[2]):  # where norms, which mix all time steps, hide nothing
            layer = replace(one_layer(case), input_grad=True)
            yield f"one layer, fp32, {ONE_RANK}", layer, workload_of(layer).network(layer)
        yield small(f"fp32, {ONE_RANK}", "spikes", precision="fp32", input_grad=True)
    for spec in () if is_chain(own[2]) else own[2].specs:
        layer = one_layer(replace(case, neuron=spec))
        yield "one layer, fp32, spikes", layer, workload_of(layer).network(layer)
    if fixed:
        for kind in dict.fromkeys(["spikes", case.input]):
            yield small(f"{fixed.exact}, {kind}", kind, construction=fixed.exact, precision="fp32")
    for precision in dict.fromkeys(["fp32", case.precision]):
        for kind in dict.fromkeys(["spikes", case.input]):
            yield small(f"{precision}, {kind}", kind, precision=precision)
    if case.loss or case.optimizer:
        yield small(f"fp32, {TRAINING}", "spikes", precision="fp32")
    yield small(f"{case.precision}, {TIME_AXIS}", "spikes")
    yield own


def too_large(case: Case) -> str | None:
    """Returns the reason why calls of this size cannot be judged, or None."""
    return oracle.refusal(workload_of(case).network(case), case.time_steps, case.batch)


def own_width(case: Case, network: Network) -> tuple[str, Case, Network]:
    """Returns the last stage: the case itself, or of a large network two steps and two items of
    it, at its own width. Its timed calls are judged at their own size in any case."""
    if not oracle.is_large(network, case.time_steps, case.batch):
        return f"{OWN_SIZE}, {case.precision}", case, network
    fewer = replace(case, time_steps=min(case.time_steps, 2), batch=min(case.batch, 2))
    return f"{OWN_SIZE} but T={fewer.time_steps} B={fewer.batch}, {case.precision}", fewer, network


def problem_of(
    case: Case, network: Network, gains: dict[str, float], fixed: FixedPoint | None
) -> Problem:
    """Returns the problem of `case`, with weights that a construction in fixed point can hold.
    Raises Unsupported if that would be another network."""
    problem = generate(case, network, gains)
    if fixed is None:
        return problem
    step, least, most = (
        np.float32(value) for value in (fixed.weight_step, fixed.least_weight, fixed.most_weight)
    )
    parameters = {}
    for node, arrays in problem.parameters.items():
        weight = np.clip(np.round(arrays["weight"] / step) * step, least, most)
        if (
            change := np.linalg.norm(weight - arrays["weight"]) / np.linalg.norm(arrays["weight"])
        ) > MOST_ROUNDED:
            raise Unsupported(
                f"its fixed point would change the weights of this problem by {change:.0%}"
            )
        parameters[node] = {**arrays, "weight": weight}
    return replace(problem, parameters=parameters)


def judge_program(
    program: Program,
    problem: Problem,
    limits: LimitsByNode,
    sleep: Sleep = time.sleep,
    backward: bool = True,
) -> CallVerdict:
    """Judges the second call, after one with another input: no state, and no gradient through
    it, may survive."""
    first = program.forward(program.put_input(problem.other_input))
    program.wait(first)
    upstream = program.put_upstream(problem.upstream, first)
    failed = ask_gradients(program, first, upstream)[1] if backward else None
    program.release()
    before = program.statistics(first)
    result = program.forward(program.put_input(problem.input))
    program.wait(result)
    call = JudgedCall(
        problem.input,
        program.spikes(result),
        program.output(result),
        statistics=(before, program.statistics(result)),
    )
    if backward and not failed:
        call.gradients, failed = ask_gradients(program, result, upstream)
    verdict = judge(problem, call, limits)
    if verdict.passed and failed:
        verdict.findings.append(failed)
    if not verdict.passed:
        if words := unsettled(program, result, call.spikes, sleep):
            verdict.findings.insert(0, words)
        elif name := named(problem, call, limits) or _unrepeated(program, problem, call):
            verdict.findings.insert(0, name)
    return verdict


def misshapen(program: Program, problem: Problem) -> list[str]:
    """Names the first node with wrong features; nothing if the program has none."""
    network, right = problem.network, set[str]()
    try:
        features_by_node = {
            name: tuple(features)
            for name, features in program.features(program.put_input(problem.other_input)).items()
        }
    except (
        Exception
    ):  # of a program that cannot take an input either, or that has features of its own
        return []
    for name, features_of_node in features_by_node.items():
        if features_of_node == network.shapes.get(name):
            right.add(name)
        elif name in network.shapes:
            return [
                shape_fault(network, name, features_of_node, right)
                or f"{name} has features {features_of_node}, not {network.shapes[name]}"
            ]
    return []


def unsettled(
    program: Program, result: Any, given: Mapping[str, np.ndarray], sleep: Sleep
) -> str | None:
    """Names spikes that still change after the call was waited for."""
    sleep(SETTLE_SECONDS)
    later = program.spikes(result)
    if all(
        name in later and np.array_equal(spikes, later[name], equal_nan=True)
        for name, spikes in given.items()
    ):
        return None
    return "the spikes still changed after the call was waited for: asynchronous without a sync"


def _unrepeated(program: Program, problem: Problem, call: JudgedCall) -> str | None:
    """Names spikes that differ when the same input is repeated."""
    again = program.forward(program.put_input(problem.input))
    program.wait(again)
    other = program.spikes(again)
    if all(
        np.array_equal(spikes, other[name], equal_nan=True) for name, spikes in call.spikes.items()
    ):
        return None
    return (
        "the same input gives other spikes when repeated: "
        "something random (dropout, rounding), or state"
    )
