"""Checks of a record's proof against its numbers and the limits of its case."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...common import __version__
from ...core.status import RESULTS, worst
from ...proof.frames import stage_of
from ...proof.judge import MOST_SLACK
from ...proof.limits import limits_of
from ...proof.recurrence import jumps
from ...proof.stages import PlannedStage, StageKind, stages_of
from ...records.record import Record
from ...workloads import workload_of
from .fault import Fault

SIZES = ("time_steps", "batch", "neurons", "precision", "input")


def proofs(record: Record, where: str) -> Iterator[Fault]:
    """Yields the faults of a record's status and proof."""
    yield from _status(record, where)
    if record.proof:
        yield from _verdict(record, where)
        if record.proof["passed"]:
            yield from _stages(record, where)


def _status(record: Record, where: str) -> Iterator[Fault]:
    statuses = {name: part.status for name, part in record.parts.items() if part.status}
    if statuses and record.status != (right := worst(statuses.values())):
        guilty = next(name for name, status in statuses.items() if status == right)
        yield Fault(
            "status", where, f"status = {record.status!r}: its part {guilty} makes it {right}"
        )
    if record.status not in ("ok", "pruned") and not record.reason:
        yield Fault("status", where, f"status = {record.status!r}: says no reason")
    if (
        record.status in RESULTS
        and record.proof
        and not record.proof["passed"]
        and not record.typed_case.native
    ):
        yield Fault(
            "status", where, f"status = {record.status!r}: its proof failed, which is check_failed"
        )
    timed = any(part.timing and len(part.timing.slots) for part in record.parts.values())
    if timed and not record.block and not record.proof:
        yield Fault("unproved", where, "its first block has times and no proof")


def _verdict(record: Record, where: str) -> Iterator[Fault]:
    assert record.proof
    if not record.proof["stages"]:
        yield Fault("verdict", where, "its proof has no stage")
    for stage in record.proof["stages"]:
        if stage["passed"] == bool(stage["findings"]):
            ending = "passed, with findings" if stage["passed"] else "failed, without a finding"
            yield Fault("verdict", where, f"stage {stage['name']!r} is said to have {ending}")
        errors = [error for error in stage["errors"].values() if error is not None]
        if stage["grad_error"] != max(errors, default=None):
            yield Fault(
                "verdict",
                where,
                f"stage {stage['name']!r}: grad_error is not the largest of its errors",
            )


def _stages(record: Record, where: str) -> Iterator[Fault]:
    """Yields the faults of a proof's stages. In fixed point only the last stage is known, because
    the adapter chooses the first construction; other versions of snnbench may have other stages.
    The stage of the inference may be missing: not all records of this version have it."""
    assert record.proof
    case, loosened = record.typed_case, record.proof.get("loosened") or []
    if record.snnbench != __version__:
        return
    stages = [stage["name"] for stage in record.proof["stages"]]
    if case.delivers_data:
        if stages != [stage_of(case)]:
            yield Fault(
                "stages",
                where,
                f"its proof has the stages {', '.join(stages)}, not {stage_of(case)}",
            )
        return
    expected = [
        planned
        for planned in stages_of(case, workload_of(case), None)
        if planned.kind is not StageKind.INFERENCE or planned.name in stages
    ]
    if "fixed point" in loosened:
        if not set(stages) >= {expected[-1].name}:
            yield Fault("stages", where, f"its proof lacks the stage {expected[-1].name!r}")
        return
    if stages != (names := [planned.name for planned in expected]):
        lacking = [name for name in names if name not in stages]
        what = (
            f"lacks the stage {lacking[0]!r}"
            if lacking
            else f"has the stages {', '.join(stages)}, not {', '.join(names)}"
        )
        yield Fault("stages", where, f"its proof {what}")
        return
    for stage, planned in zip(record.proof["stages"], expected, strict=True):
        sizes: Mapping[str, object] = stage
        for size in SIZES:
            right = getattr(planned.case, size)
            if (stated := sizes.get(size, right)) != right:
                text = f"stage {planned.name!r}: {size} = {stated!r}: is proved at {right!r}"
                yield Fault("stages", where, text)
        if not case.native:
            yield from _numbers(stage, planned, jumps(case.spec), where)


def _numbers(
    stage: Mapping[str, Any], planned: PlannedStage, abrupt: bool, where: str
) -> Iterator[Fault]:
    name, limits = planned.name, limits_of(planned.case, planned.network)
    most = {
        "wrong_decisions": max(limit.decisions for limit in limits.values()),
        "distance": max(limit.distance for limit in limits.values()),
    }
    for key, limit in most.items():
        allowed = max(limit, stage.get("allowed", {}).get(key, 0.0))
        if (stage.get(key) or 0.0) > allowed:
            yield Fault(
                "tolerance",
                where,
                f"stage {name!r}: {key} = {stage[key]:.3g}: at most {allowed:.3g} pass",
            )
    for key, error in stage["errors"].items():
        allowed = max(
            limit.bias_gradient if key == "bias" else limit.gradient for limit in limits.values()
        )
        # These have slack for rounding.
        if abrupt or key == "decay" or planned.kind is StageKind.TRAINING:
            allowed += MOST_SLACK
        allowed = max(allowed, stage.get("allowed", {}).get(key, 0.0))
        if error is None or error > allowed:
            text = (
                f"stage {name!r}: the error of the gradient of {key} is {error}: at most "
                f"{allowed:.3g} pass"
            )
            yield Fault("tolerance", where, text)
