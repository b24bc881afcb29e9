"""One case of the workload `data` in one block, in a process of its own: import, build what is cached, first epoch, be proved,
time epochs."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from ..core.case import NO_NETWORK
from ..core.contract import Unsupported
from ..core.cuda_queue import CudaQueue
from ..core.jobs import Task
from ..core.result import settled
from ..data.epoch import Epoch
from ..data.faults import faults_told
from ..data.strategies.loading import Loading
from ..measure.epochs import Delivered, Epochs, batches_of
from ..measure.memory import host_peak_bytes
from ..measure.slots import Sampler
from .measured import Measured
from .network_behind import NetworkBehind
from .parts import Ended

if TYPE_CHECKING:
    from ..data.strategies.strategy import Strategy


class Delivery:
    """A strategy, and the network that trains on its batches if there is one, as the sampler and the judge drive them."""

    def __init__(self, strategy: Strategy, device: str, network: NetworkBehind | None) -> None:
        self.strategy, self.device, self.network = strategy, device, network
        self.device_clock = "process" if device == "cpu" else "events"
        self.batches: Iterator[tuple[Any, Any]] = iter(())

    def device_queue(self) -> CudaQueue | None:
        return CudaQueue(self.device) if self.device_clock == "events" else None

    def epoch(self, epoch: Epoch) -> Iterator[tuple[Any, Any]]:
        """Batches, each after the network has trained on it."""
        for frames, labels in self.strategy.epoch(epoch):
            if self.network:
                self.network.train(frames, labels)
            yield frames, labels

    def stages(self, epoch: Epoch) -> dict[str, float]:
        """Seconds of an epoch that the device waits for batches, and that it trains on them, one after the other."""
        waits = trains = 0.0
        last = perf_counter()
        for frames, labels in self.strategy.epoch(epoch):
            settled(None)
            there = perf_counter()
            if self.network:
                self.network.train(frames, labels)
                settled(None)
            waits, trains, last = (
                waits + there - last,
                trains + perf_counter() - there,
                perf_counter(),
            )
        return {"epoch_wait_s": waits + perf_counter() - last} | (
            {"epoch_train_s": trains} if self.network else {}
        )

    def start(self, numbers: list[int], shifts: list[int] | None) -> None:
        """Begin an epoch for the judge."""
        self.batches = self.strategy.epoch(Epoch(numbers, shifts))

    def next_batch(self) -> list[Any] | None:
        """Frames and labels of its next batch as arrays; None behind the last."""
        batch = next(self.batches, None)
        return batch and [each.detach().cpu().numpy() for each in batch]


class DataWorker(Measured):
    """Runs a task and reports every part of it as an event as soon as it is known, like the worker of a network."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit, job)
        self.cpu_s, self.calls = 0.0, 0

    def run(self) -> None:
        """Build, deliver the first epoch and be proved (in the first block), then time what the channel orders."""
        with suppress(Ended):
            delivery = self._built()
            epochs = Epochs(self.case, delivery.epoch, getrandbits(62))
            with self._part("first_call", "error"), faults_told(self.case, self.task.recordings):
                epochs.phase.call(epochs.phase.prepare(0))
            self.emit({"part": "memory", "host_peak_bytes": host_peak_bytes()})
            if self.first_block:
                self._be_proved(delivery)
            if self.task.timed:
                self._time(delivery, epochs)
            if self.first_block:
                epoch, _ = epochs.phase.prepare(0)
                self.emit({"part": "epoch", "facts": delivery.stages(epoch)})
            self._refuse_attempts("error")

    def run_proof(self) -> None:
        """Be proved, and no more."""
        with suppress(Ended):
            self._be_proved(self._built())
            self._refuse_attempts("error")

    def _built(self) -> Delivery:
        """The case's strategy, with everything that it keeps."""
        adapter = cast(Loading, self._import())
        if self.case.loaders:
            _shorten_temporary_names()
        with self._part("build", "build_error"):
            if reason := adapter.refuses(self.case, self.network):
                raise Unsupported(reason)
            adapter.prepare(self.case, self.threads)
            self.task.cache.mkdir(parents=True, exist_ok=True)
            strategy = adapter.strategy(self.case, self.task.recordings, self.task.cache)
            with faults_told(self.case, self.task.recordings):
                strategy.build()
            network = (
                NetworkBehind(self.case, self.threads) if self.case.behind != NO_NETWORK else None
            )
        held = {
            name: getattr(strategy, name)() for name in ("disk_bytes", "host_bytes", "device_bytes")
        }
        self.emit({"part": "build", "facts": {**held, "batches": batches_of(self.case)}})
        gc.collect()
        gc.freeze()
        return Delivery(strategy, self.case.device, network)

    def _be_proved(self, delivery: Delivery) -> None:
        """Serve the judge's calls; the case is over if it does not say that these are the recordings' frames."""
        self.emit({"part": "proof"})
        if not self.serving.until_judged({"prove": {}}, delivery=delivery):
            self.emit({"part": "proof", "traceback": self.serving.traceback})
            raise Ended

    def _time(self, delivery: Delivery, epochs: Epochs) -> None:
        ready, sampler = {}, Sampler(epochs.phase, cast(Any, delivery))
        with suppress(Ended), self._part("step", "error"):
            calls = sampler.warm_up(compiled=True)  # the first epoch was before
            ready["step"] = {
                "device_clock": delivery.device_clock,
                "warm_up_calls": calls,
                "seconds": sampler.typical,
            }
            ready["step"]["period"] = sampler.period
        gc.collect()
        gc.freeze()
        self.channel.answer({"ready": ready})
        for order in self.channel.orders():
            if "judge" in order:
                self.emit({"part": "recheck"})
                self.serving.until_judged(
                    {"recheck": self.serving.handed_over(partial(_arrays, sampler.result))}
                )
                self.channel.answer({})
                continue
            sampler.result, epochs.seed = None, order["seed"]
            work = partial(self._counted, sampler)
            if "burst" in order:
                work = partial(self._burst, sampler, order["burst"])
            if "device" in order:
                work = partial(dict[str, Any], device={})
            self.channel.answer(self._carried_out("step", work))
        if self.calls:
            used = self.cpu_s / self.calls / batches_of(self.case) / self.case.batch
            self.emit({"part": "step", "facts": {"cpu_s_per_sample": used}})

    def _counted(self, sampler: Sampler) -> dict[str, Any]:
        """The answer to an order to fill a slot."""
        answer = self._slot(sampler, "step", [])
        self.cpu_s, self.calls = self.cpu_s + answer["cpu"], self.calls + answer["last"] + 1
        return answer


def _shorten_temporary_names() -> None:
    """Name the folder for temporary files by a descriptor: the sockets through which loaders hand over tensors may have names of
    107 bytes, and with a longer one the epoch would wait for ever."""
    folder = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    tempfile.tempdir = f"/proc/{os.getpid()}/fd/{folder}"


def _arrays(result: Delivered) -> dict[str, Any]:
    """What is left of an epoch, for the judge."""
    arrays = [
        None if each is None else each.detach().cpu().numpy()
        for each in (result.frames, result.labels)
    ]
    return dict(zip(("frames", "labels"), arrays, strict=True)) | {"batches": result.batches}
