"""Proves that a framework computes the network of a case: small problem, time axis, then the
case's own size."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, cast

import numpy as np

from ..core.case import ABSENT, Case
from ..core.contract import Adapter, FixedPoint, OtherNetwork, Parameters, Program, Unsupported
from ..core.network import Network
from ..core.status import OWN_SIZE, in_words, lacks_room
from ..machine.cores import usable_cores
from ..measure.phases import Draw
from ..workloads import Workload, one_layer, workload_of
from . import oracle
from .calibration import small_problem
from .diagnosis.diagnose import name_fault
from .diagnosis.hypotheses import OtherReset
from .diagnosis.shapes import shape_fault
from .judge import CallVerdict, JudgedCall, judge, moved_in_inference, wrote_over
from .limits import LimitsByNode, limits_of
from .native import ask_gradients, judge_native, with_firing_input
from .problem import Gains, Problem, drawn, generate, half_silent, in_inference, is_chain
from .ranks import against_one_rank
from .rare import judge_rare, judge_rare_parameters
from .steps import judge_plain_steps, judge_steps
from .time_axis import time_axis

Sleep = Callable[[float], None]
UNSTEADY = 1e-3
"""Share of spikes that may differ when a native neuron repeats a call; others repeat them all."""
LASTING = ("eager", "compile")
"""Modes in which a later call must not overwrite an earlier result."""
MOST_ROUNDED = 0.1
"""Largest relative L2 change of weights by rounding to fixed point; above it the network is
another."""
SETTLE_SECONDS = 0.2
"""Seconds after a failed proof until spikes are read again: a call had not finished if they
changed."""
STILL_CHANGED = (
    "still changed after the call had been waited for: is it asynchronous without a sync?"
)


class StageKind(StrEnum):
    """The kinds of stages; the names of all but `CALL` contain it."""

    CALL = "call"
    INFERENCE = "inference"
    TIME_AXIS = "time axis"
    TRAINING = "training"
    ONE_RANK = "against one rank"
    OWN_SIZE = OWN_SIZE


class PlannedStage(NamedTuple):
    name: str
    kind: StageKind
    case: Case
    network: Network


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
    """The judged stages, up to the first that failed. `loosened` names the rules by which the proof
    is weaker than others."""

    stages: list[ProofStage] = field(default_factory=list)
    loosened: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(stage.verdict.passed for stage in self.stages)

    @property
    def reason(self) -> str | None:
        failed = next((stage for stage in self.stages if not stage.verdict.passed), None)
        return f"{failed.name}: {'; '.join(failed.verdict.findings)}" if failed else None

    @property
    def has_other_reset(self) -> bool:
        """Whether a neuron's reset is detached and should not be, or the other way round."""
        return any(
            isinstance(each, OtherReset) for stage in self.stages for each in stage.verdict.findings
        )

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
    gains: Gains,
    sleep: Sleep = time.sleep,
    backward: bool = True,
    seeded: bool = False,
    timed: Program | None = None,
) -> Proof:
    """Proves `case` with its `gains`, and stops at the first stage that fails.

    Weights that come with the network are used at its own size only, and not at all if weights are
    `seeded`. At that size the program that is `timed` is proved itself, if there is one: no other
    is built and compiled. Without `backward`, for lack of memory, gradients are proved at the small
    size only. A native neuron has no oracle: it must spike, have the right time axis and repeat its
    gradients. Raises Unsupported if it is silent.
    """
    looser_rules = {
        "fixed point": adapter.fixed_point(case) is not None,
        "no gradients at its own size": not backward,
    }
    proof = Proof(loosened=[rule for rule, applies in looser_rules.items() if applies])
    built: tuple[Case, Program, Problem] | None = None
    for stage in stages_of(case, workload, adapter.fixed_point(case)):
        adapter.prepare(stage.case, len(usable_cores()))
        is_own_size = stage.kind is StageKind.OWN_SIZE
        if is_own_size or built is None or built[0] != stage.case:
            built = None  # frees its memory
            if is_own_size:
                network = stage.network.bare() if seeded else stage.network
                problem = generate(stage.case, network, gains)
            else:
                problem = small_problem(stage.case, stage.network.bare())
            problem = in_fixed_point(problem, adapter.fixed_point(stage.case))
            if timed is not None and is_own_size and stage.case == case:
                built = case, timed, problem
            else:
                built = stage.case, adapter.program(stage.case, problem.network), problem
        with_backward = backward or not is_own_size
        verdict = _judge_stage(adapter, *built[1:], stage, sleep, with_backward)
        proof.stages.append(ProofStage(stage.name, stage.case, verdict))
        if not verdict.passed:
            break
    adapter.prepare(case, len(usable_cores()))
    return proof


def _judge_stage(
    adapter: Adapter,
    program: Program,
    problem: Problem,
    stage: PlannedStage,
    sleep: Sleep,
    backward: bool,
) -> CallVerdict:
    """Judges a stage by its program. A call that fails in a program with wrong shapes
    is a finding. Raises other errors."""
    case, network = stage.case, problem.network
    limits = limits_of(case, network, adapter.fixed_point(case))
    try:
        program.load(problem.parameters)
        if case.native:
            problem, _ = with_firing_input(program, problem)
        if stage.kind is StageKind.INFERENCE:
            return judge_served(program, with_statistics(problem), limits, sleep)
        if stage.kind is StageKind.TIME_AXIS:
            problem = with_statistics(problem)
            unsteady = UNSTEADY if case.native else 0.0
            return time_axis(program, problem, unsteady, lasting=case.mode in LASTING)
        if stage.kind is StageKind.ONE_RANK:
            alone = adapter.program(replace(case, parallel=ABSENT, ranks=ABSENT), network)
            alone.load(problem.parameters)
            return against_one_rank(program, alone, problem, limits, case)
        if stage.kind is StageKind.TRAINING:
            return judge_steps(program, problem, limits)
        if case.native:
            return judge_native(program, problem, limits[problem.last].gradient, backward)
        verdict, call = judge_second(program, problem, limits, sleep, backward)
        if verdict.passed and stage.kind is StageKind.CALL and case.precision == "fp32":
            together = case.mode in LASTING and not case.ranks
            assert call.statistics is not None and call.gradients is not None
            rare = judge_rare(program, problem, limits, together, call.statistics[1])
            verdict.findings += rare.findings
            if verdict.passed:
                verdict.findings += judge_rare_parameters(program, problem, limits).findings
            plain = case.loss is None and case.optimizer is None and not case.ranks
            gradients = cast(Parameters, call.gradients.parameters)
            if verdict.passed and plain and gradients and adapter.fixed_point(case) is None:
                steps = judge_plain_steps(program, problem, gradients, limits)
                verdict.findings += steps.findings
        return verdict
    except OtherNetwork as error:
        return CallVerdict([*shape_findings(program, problem), str(error)])
    except Exception as error:
        if lacks_room(error) or isinstance(error, Unsupported):
            raise
        if not (findings := shape_findings(program, problem)):
            raise
        return CallVerdict([*findings, in_words(error)])


def stages_of(case: Case, workload: Workload, fixed: FixedPoint | None) -> Iterator[PlannedStage]:
    """Yields the stages of a proof. Those in fp32 come first, without fixed point: they prove the
    constants. Time axis and own size have the case's precision. Neurons of a network are first
    proved in one layer, with tighter limits."""

    def small(
        name: str, inputs: str, kind: StageKind = StageKind.CALL, **changes: Any
    ) -> PlannedStage:
        changed = workload.small_case(replace(case, **changes), inputs)
        return PlannedStage(f"small problem, {name}", kind, changed, workload.network(changed))

    def layer(name: str, kind: StageKind, layer_case: Case) -> PlannedStage:
        network = workload_of(layer_case).network(layer_case)
        return PlannedStage(f"one layer, fp32, {name}", kind, layer_case, network)

    last = last_stage(case, workload.network(case))
    time_axis_name = f"{case.precision}, {StageKind.TIME_AXIS}"
    if case.native:
        yield small(time_axis_name, "spikes", StageKind.TIME_AXIS)
        yield small(f"{case.precision}, gradients", "spikes", input_grad=True)
        yield last
        return
    chain = is_chain(last.network)
    if case.ranks:
        kind = StageKind.ONE_RANK
        if not chain:  # norms mix all time steps and could hide an error between ranks
            yield layer(kind, kind, replace(one_layer(case), input_grad=True))
        yield small(f"fp32, {kind}", "spikes", kind, precision="fp32", input_grad=True)
    for spec in () if chain else last.network.specs:
        yield layer("spikes", StageKind.CALL, one_layer(replace(case, neuron=spec)))
    every_input = dict.fromkeys(["spikes", case.input])
    if fixed:
        for inputs in every_input:
            name = f"{fixed.exact}, {inputs}"
            yield small(name, inputs, construction=fixed.exact, precision="fp32")
    for precision in dict.fromkeys(["fp32", case.precision]):
        for inputs in every_input:
            yield small(f"{precision}, {inputs}", inputs, precision=precision)
    if case.loss or case.optimizer:
        kind = StageKind.TRAINING
        yield small(f"fp32, {kind}", "spikes", kind, precision="fp32")
    yield small(f"fp32, {StageKind.INFERENCE}", "spikes", StageKind.INFERENCE, precision="fp32")
    yield small(time_axis_name, "spikes", StageKind.TIME_AXIS)
    yield last


def too_large(case: Case) -> str | None:
    """Returns the reason why calls of this size cannot be judged, or None."""
    return oracle.refusal(workload_of(case).network(case), case.time_steps, case.batch)


def last_stage(case: Case, network: Network) -> PlannedStage:
    """Returns the stage at the case's own size, cut to two steps and two items if the network is
    large. Timed calls are judged at full size nevertheless."""
    judged, but = case, ""
    if oracle.is_large(network, case.time_steps, case.batch):
        judged = replace(case, time_steps=min(case.time_steps, 2), batch=min(case.batch, 2))
        but = f" but T={judged.time_steps} B={judged.batch}"
    name = f"{OWN_SIZE}{but}, {case.precision}"
    return PlannedStage(name, StageKind.OWN_SIZE, judged, network)


def problem_of(case: Case, network: Network, gains: Gains, fixed: FixedPoint | None) -> Problem:
    """Returns the problem of `case`, with weights rounded for a construction in fixed point. Raises
    Unsupported if that changes them by more than MOST_ROUNDED."""
    return in_fixed_point(generate(case, network, gains), fixed)


def in_fixed_point(problem: Problem, fixed: FixedPoint | None) -> Problem:
    """Returns `problem` with weights that a construction in fixed point can hold, see
    `problem_of`."""
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


def with_statistics(problem: Problem) -> Problem:
    """Returns `problem` with the running statistics that its norms have after training on its
    input: those of the oracle's free run."""
    return replace(problem, statistics=oracle.running_statistics(problem))


def judge_served(
    program: Program, problem: Problem, limits: LimitsByNode, sleep: Sleep = time.sleep
) -> CallVerdict:
    """Judges an evaluation and an inference of the same input, behind its hidden spikes, first with
    another input, other parameters and statistics: norms use their running statistics, neurons
    compute what they compute in training, and a call leaves its input as it is."""
    verdict = CallVerdict()
    for draw in (Draw(source=1, turn=0, parameters=1, upstream=0), Draw(0, 0, 0, 0)):
        judged: JudgedCall | None = None
        given = drawn(problem, draw)
        program.roll_parameters(draw.parameters)
        program.prepare_inference(given.statistics)
        exact, x, hidden = in_inference(given), program.put_input(given.input), dict[str, Any]()
        for call_of in (program.evaluate, program.inference):
            result = call_of(x)
            program.wait(result)
            spikes, after = program.spikes(result), program.statistics(result)
            if findings := [*moved_in_inference(exact, given.statistics, after)]:
                return CallVerdict(findings)
            hidden = hidden | spikes
            left = program.input_after(x)
            call = JudgedCall(given.input, hidden, program.output(result), left=left)
            if judged and _repeats(call, judged):
                continue
            judged, verdict = call, judge(exact, call, limits)
            if not verdict.passed:
                changed = unsettled(program, result, spikes, sleep)
                fault = changed or name_fault(exact, call, limits)
                verdict.findings[:0] = [fault] if fault else []
                return verdict
    return verdict


def _repeats(call: JudgedCall, before: JudgedCall) -> bool:
    """Tells if a call has the results of another one on the same input, and has left it as it
    was."""

    def equal(value: np.ndarray | None, other: np.ndarray | None) -> bool:
        return value is other or (
            value is not None and other is not None and np.array_equal(value, other)
        )

    return (
        not wrote_over(call.x, call.left)
        and call.spikes.keys() == before.spikes.keys()
        and all(equal(array, before.spikes[name]) for name, array in call.spikes.items())
        and equal(call.output, before.output)
    )


def judge_program(
    program: Program,
    problem: Problem,
    limits: LimitsByNode,
    sleep: Sleep = time.sleep,
    backward: bool = True,
) -> CallVerdict:
    """Judges the second call of a program."""
    return judge_second(program, problem, limits, sleep, backward)[0]


def judge_second(
    program: Program, problem: Problem, limits: LimitsByNode, sleep: Sleep, backward: bool
) -> tuple[CallVerdict, JudgedCall]:
    """Judges the second call, after one with another input, of which half of the features are
    silent: state that survives a call, a gradient through it, and inputs that the first call has
    taken for unused show. Returns the verdict and the call."""
    problem = replace(problem, other_input=half_silent(problem.other_input))
    first = program.forward(program.put_input(problem.other_input))
    program.wait(first)
    upstream = program.put_upstream(problem.upstream, first)
    failed = ask_gradients(program, first, upstream)[1] if backward else None
    program.release()
    before = program.statistics(first)
    result = program.forward(x := program.put_input(problem.input))
    program.wait(result)
    call = JudgedCall(problem.input, program.spikes(result), program.output(result))
    if backward and not failed:
        call.gradients, failed = ask_gradients(program, result, upstream)
    call.left = program.input_after(x)
    call.statistics = before, program.statistics(result)  # a recomputation may move them again
    verdict = judge(problem, call, limits)
    if verdict.passed and failed:
        verdict.findings.append(failed)
    if not verdict.passed:
        fault = (
            unsettled(program, result, call.spikes, sleep)
            or name_fault(problem, call, limits)
            or _unrepeated(program, problem, call)
        )
        if fault:
            verdict.findings.insert(0, fault)
    return verdict, call


def shape_findings(program: Program, problem: Problem) -> list[str]:
    """Returns a sentence on the first node with a wrong shape; none if all shapes are right or the
    program cannot tell them."""
    network, right = problem.network, set[str]()
    try:
        features_by_node = {
            name: tuple(features)
            for name, features in program.features(program.put_input(problem.other_input)).items()
        }
    except Exception:  # it takes no input, or defines `features` itself
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
    program: Program, result: Any, spikes: Mapping[str, np.ndarray], sleep: Sleep
) -> str | None:
    """Returns a sentence if `spikes` have changed since the call was waited for, else None."""
    sleep(SETTLE_SECONDS)
    later = program.spikes(result)
    if all(
        name in later and np.array_equal(array, later[name], equal_nan=True)
        for name, array in spikes.items()
    ):
        return None
    return f"the spikes {STILL_CHANGED}"


def _unrepeated(program: Program, problem: Problem, call: JudgedCall) -> str | None:
    """Returns a sentence if the same input gives other spikes when it is repeated, else None."""
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
