"""The table `[measure]` of a config: how cases are timed, and their limits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    model_validator,
)

from ..core.case import PHASES, USUAL_PHASES, ranked_phase
from .values import duration_text, parse_duration, parse_size, size_text

if TYPE_CHECKING:
    Phase = str
else:  # a type checker cannot read a Literal that is computed
    Phase = Literal[PHASES]

Blocks = Annotated[int, Field(strict=True, gt=0, le=1000)]
Flag = Annotated[bool, Field(strict=True)]
Duration = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=str)]
Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=str)]


def _with_ranked(phases: list[str], info: ValidationInfo) -> list[str]:
    rank_by = info.data.get("rank_by")
    if rank_by and rank_by not in phases:
        raise ValueError(f"must have {rank_by!r} among them: rank_by is {rank_by!r}")
    if not rank_by and "step" not in phases and len({*phases}) > 1:
        raise ValueError("without 'step' needs rank_by, the one of them that ranks the cases")
    return phases


class Measure(BaseModel, extra="forbid"):
    """Measurement of a comparison group: its cases are alive together and timed in slots, pass by
    pass, block after block."""

    blocks: Annotated[
        Blocks, Field(description="sets of fresh processes that every case is timed in")
    ] = 3
    most_blocks: Annotated[
        Blocks,
        Field(
            description="up to so many, where it is open whether a case is slower than the fastest"
        ),
    ] = 10
    passes: Annotated[Blocks, Field(description="slots of each case in a block")] = 10
    slot: Annotated[Duration, Field(description="how long a case is timed in a pass")] = 0.08
    phase_blocks: Annotated[
        Blocks | None,
        Field(description="of these, those that time other phases than the ranked one; all"),
    ] = None
    budget: Annotated[
        Duration, Field(description="timing of a case in a block; long calls end the passes then")
    ] = 30.0
    timeout: Annotated[
        Duration, Field(description="for all that a framework computes for a case in a block")
    ] = 600.0
    host_memory: Size = 16 * 2**30
    threads: Annotated[int, Field(strict=True, ge=0, le=4096)] = 0
    rank_by: Annotated[
        Phase | None,
        Field(exclude_if=lambda value: value is None),
        Field(description="the phase that ranks; default: the step, or the only one of phases"),
    ] = None
    phases: Annotated[
        list[Phase],
        Field(min_length=1, validate_default=True, description="what is weighed and timed"),
        AfterValidator(_with_ranked),
    ] = list(USUAL_PHASES)
    leave_beyond: Annotated[
        float | None,
        Field(ge=1.2, le=1000, exclude_if=lambda value: value is None),
        Field(
            description="a case that its first block shows to take so many times as long as the "
            "fastest leaves; default: none"
        ),
    ] = None
    timed: Annotated[Flag, Field(description="false: only proved and weighed")] = True

    @model_validator(mode="after")
    def _one_block_is_one(self) -> "Measure":
        """One block decides nothing, so that further ones are measured only if they are named."""
        if self.blocks == 1 and "most_blocks" not in self.model_fields_set:
            self.most_blocks = 1
        return self

    def ranked(self, workload: str) -> str:
        """Returns the phase by which cases of a workload are ranked."""
        return ranked_phase(workload, self.phases, self.rank_by)

    @property
    def planned_blocks(self) -> int:
        """Blocks that every case has: one if nothing is timed."""
        return self.blocks if self.timed else 1

    @property
    def may_have_further_blocks(self) -> bool:
        return self.timed and self.most_blocks > self.blocks

    @property
    def seconds_of_slots(self) -> float:
        """Estimated seconds of slots of a case in a block: the ranked phase in every pass, others
        in every third one."""
        slots = self.passes * (1 + (len(self.phases) - 1) / 3) * self.timed
        return slots * (self.slot + 0.03)


_TEXTS: dict[Any, Callable[[Any], str]] = {parse_duration: duration_text, parse_size: size_text}
IN_WORDS = {
    name: _TEXTS[each.func]
    for name, field in Measure.model_fields.items()
    for each in field.metadata
    if isinstance(each, BeforeValidator)
}
"""Functions that write durations and sizes as a config has them."""
