"""Where a training step spends its time and its memory: what a profiling pass, apart from timing, hands out."""

from dataclasses import dataclass, field

KINDS = ("parameters", "optimizer", "feature maps", "gradients", "workspace", "planned together")
"""Of memory in use at the peak of a step. Feature maps: the input, and what forward leaves to backward or hands out. Workspace:
whatever else. XLA plans feature maps, gradients and workspace together, and does not tell them apart."""

ALONE = ("conv", "linear", "norm", "neuron")
TOGETHER = ("norm and neuron", "linear and neuron", "conv and neuron", "conv, norm and neuron")
NODES = (*ALONE, *TOGETHER, "other layers")
STAGES = (*NODES, "loss", "optimizer", "update")
"""Of a step: nodes by their kinds, those that a framework computes as one together; then the loss, and the optimizer or, in a
case without, the plain `update`. A stage of nodes is its forward and its backward."""


@dataclass
class Breakdown:
    """Seconds of a step by stage, and of a whole step that was not taken apart, each the median of several; bytes by kind at the
    peak of a step. `unknown` says why stages or kinds cannot be told."""

    seconds: dict[str, float] = field(default_factory=dict)
    step_s: float | None = None
    bytes: dict[str, int] = field(default_factory=dict)
    unknown: str | None = None


def stage_of(kinds: tuple[str, ...]) -> str:
    """The stage of nodes of these kinds that are computed as one.

    >>> stage_of(("norm", "neuron"))
    'norm and neuron'
    """
    known = [kind for kind in ALONE if kind in kinds]
    together = " and ".join([", ".join(known[:-1]), *known[-1:]] if known[1:] else known)
    return together if together in NODES else "neuron" if "neuron" in known else "other layers"
