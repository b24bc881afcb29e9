"""The table `slurm` of a config: how `--executor slurm` submits."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..common.mistakes import OPTION

RESERVED = {
    *("--array", "-a", "--comment", "--output", "-o", "--open-mode", "--parsable"),
    *("--wait", "-W", "--wrap", "--test-only"),
}


def _allowed(option: str) -> str:
    name = option.partition("=")[0] if option.startswith("--") else option[:2]
    if name in RESERVED:
        raise ValueError(f"snnbench sets {name} itself; leave it out")
    return option


Parts = Annotated[int, Field(strict=True, gt=0, le=1000)]
Option = Annotated[str, Field(pattern=OPTION, max_length=500), AfterValidator(_allowed)]


class Slurm(BaseModel):
    """One array job. Each task runs a part of the experiment: whole comparison groups."""

    model_config = ConfigDict(extra="forbid")

    parts: Parts = Field(1, description="tasks; each takes whole comparison groups")
    options: list[Option] = Field(
        ["--exclusive"], description="of sbatch: partition, GPUs, cores, memory, time"
    )
    prelude: str = Field(
        "", max_length=10_000, description="lines of bash before it: environment modules"
    )
