"""The table `slurm` of a config: how `--executor slurm` submits."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..common.mistakes import OPTION


def _free(option: str) -> str:
    """An option of sbatch that snnbench does not need for itself."""
    name = option.partition("=")[0] if option.startswith("--") else option[:2]
    if name in OWN_OPTIONS:
        raise ValueError(f"snnbench sets {name} itself; leave it out")
    return option


OWN_OPTIONS = (
    "--array",
    "-a",
    "--comment",
    "--output",
    "-o",
    "--open-mode",
    "--parsable",
    "--wait",
    "-W",
    "--wrap",
    "--test-only",
)
Option = Annotated[str, Field(pattern=OPTION, max_length=500), AfterValidator(_free)]


class Slurm(BaseModel):
    """One array job, each of whose tasks runs a part of the experiment on its node."""

    model_config = ConfigDict(extra="forbid")

    parts: Annotated[
        int,
        Field(strict=True, gt=0, le=1000, description="tasks; each takes whole comparison groups"),
    ] = 1
    options: Annotated[
        list[Option], Field(description="of sbatch: partition, GPUs, cores, memory, time")
    ] = ["--exclusive"]
    prelude: Annotated[
        str, Field(max_length=10_000, description="lines of bash before it: environment modules")
    ] = ""
