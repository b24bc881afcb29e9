"""Time and memory of a training step by its parts: the result of a profiling pass."""

from dataclasses import dataclass, field

KINDS = ("parameters", "optimizer", "feature maps", "gradients", "workspace", "planned together")
"""Kinds of memory in use at the peak of a step. Feature maps: the input, the output and all that
forward keeps for backward. Workspace: the rest. XLA plans feature maps, gradients and workspace
together, and reports their sum."""

ALONE = ("conv", "linear", "norm", "neuron")
TOGETHER = (
    "norm and neuron",
    "linear and neuron",
    "linear, norm and neuron",
    "conv and neuron",
    "conv, norm and neuron",
)
NODES = (*ALONE, *TOGETHER, "other layers")
STAGES = (*NODES, "loss", "optimizer", "update")
"""Stages of a step: nodes by kind, fused ones together; then the loss, and the optimizer or, in a
case without one, the plain `update`. A stage of nodes is its forward and its backward."""


@dataclass
class Breakdown:
    """Median seconds by stage, and of a whole step that was not taken apart; bytes by kind at the
    peak of a step. `unknown` is the reason why stages or kinds are missing."""

    seconds: dict[str, float] = field(default_factory=dict)
    step_s: float | None = None
    bytes: dict[str, int] = field(default_factory=dict)
    unknown: str | None = None


def stage_of(kinds: tuple[str, ...]) -> str:
    """Returns the stage of fused nodes of these kinds.

    >>> stage_of(("norm", "neuron"))
    'norm and neuron'
    """
    known = [kind for kind in ALONE if kind in kinds]
    together = " and ".join([", ".join(known[:-1]), *known[-1:]] if known[1:] else known)
    return together if together in NODES else "neuron" if "neuron" in known else "other layers"
