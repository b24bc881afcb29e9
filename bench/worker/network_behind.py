"""The network that trains on delivered batches."""

from typing import Any, cast

from snnbench.adapters import registry

from ..core.case import Case, variants_of
from ..core.complete import whole
from ..core.contract import Program, Unsupported
from ..proof.problem import draw_parameters
from ..workloads.frames_mlp import trained_on


class NetworkBehind:
    """The network that a case's `behind` names, on the case's device. Raises Unsupported."""

    def __init__(self, case: Case, threads: int) -> None:
        name, _, words = case.behind.partition(":")
        adapter = registry.load(registry.references()[name])
        ((construction, mode),) = variants_of(words, adapter.constructions, adapter.modes)
        own, network = trained_on(case, name, construction, mode)
        if reason := _not_of_torch(adapter) or adapter.refuses(own, network):
            raise Unsupported(f"{case.behind} behind: {reason}")
        adapter.prepare(own, threads)
        self.program = cast(Program, whole(adapter.program(own, network)))
        self.program.holds_borders = False
        self.program.load(
            {node: draw_parameters(own, network, node) for node in network.parameters}
        )

    def train(self, frames: Any, labels: Any) -> None:
        """A step on a batch of frames (B, T, channels) and labels (B,), tensors on the device."""
        self.program.release()
        self.program.step(frames.transpose(0, 1).contiguous(), labels)


def _not_of_torch(adapter: Any) -> str | None:
    from snnbench.adapters.base.torch_adapter import TorchAdapter

    return (
        None
        if isinstance(adapter, TorchAdapter)
        else "batches are torch's tensors, which this framework does not take"
    )
