"""Adapters of which one rank dies, or does not come. Ranks leave their process ids in
SNNBENCH_TEST_NOTES."""

import os
import signal
import time
from pathlib import Path

from snnbench.adapters.torch_loop import TorchLoop


class Noting(TorchLoop):
    """In the first forward of every rank `happens` is called."""

    name = "noting"

    def neuron(self, spec, features):
        neuron, happens = super().neuron(spec, features), self.happens

        def noted(*_):
            if (rank := os.environ.get("RANK")) is not None:
                (Path(os.environ["SNNBENCH_TEST_NOTES"]) / f"rank{rank}").write_text(
                    str(os.getpid())
                )
                happens(int(rank))

        neuron.register_forward_pre_hook(noted)
        return neuron

    def happens(self, rank):
        pass


class OneDies(Noting):
    name = "one-dies"

    def happens(self, rank):
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)


class OneDoesNotCome(Noting):
    name = "one-does-not-come"

    def happens(self, rank):
        while rank == 1:
            time.sleep(3600)


class OneRaises(Noting):
    name = "one-raises"

    def happens(self, rank):
        if rank == 1:
            raise ValueError("of rank one alone")


class AllStand(Noting):
    """All wait until they are ended."""

    name = "all-stand"

    def happens(self, rank):
        while True:
            time.sleep(3600)
