"""A case of the workload `data` in one block: import, caches, first epoch, proof, timing."""

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

from snnbench.adapters import registry

from ..core.case import Case
from ..core.complete import whole
from ..core.contract import Program, Unsupported
from ..core.cuda_queue import CudaQueue
from ..core.jobs import Task
from ..core.result import settled
from ..core.variant import VariantPattern
from ..data.epoch import Epoch
from ..data.reading import explained_faults
from ..data.strategies.loading import Loading
from ..measure.epochs import Delivered, Epochs, batches_of, plain
from ..measure.memory import host_peak_bytes
from ..measure.slots import Sampler
from ..proof.problem import draw_parameters
from ..workloads import workload_of
from ..workloads.recipes import UPDATES, trained_on
from .measured import Measured
from .parts import CaseEnded
from .serving import ProvedAdapter

if TYPE_CHECKING:
    from ..data.strategies.base import Strategy


class Delivery:
    """A strategy and the network, if any, that trains on its batches, for the sampler and judge."""

    def __init__(self, strategy: Strategy, device: str, network: NetworkBehind | None) -> None:
        self.strategy, self.device, self.network = strategy, device, network
        self.device_clock = "process" if device == "cpu" else "events"
        self.batches: Iterator[tuple[Any, Any]] = iter(())
        self.handed_out: list[tuple[Any, Any]] = []

    def device_queue(self) -> CudaQueue | None:
        return CudaQueue(self.device) if self.device_clock == "events" else None

    def epoch(self, epoch: Epoch) -> Iterator[tuple[Any, Any]]:
        """Yields batches, each after the network has trained on it."""
        for frames, labels in self.strategy.epoch(epoch):
            if self.network:
                self.network.train(frames, labels)
            yield frames, labels

    def stages(self, epoch: Epoch) -> dict[str, float]:
        """Seconds of an epoch that the device waits for batches, and that it trains on them."""
        waits = trains = 0.0
        last = perf_counter()
        for frames, labels in self.strategy.epoch(epoch):
            settled(None)
            there = perf_counter()
            if self.network:
                self.network.train(frames, labels)
                settled(None)
            waits, last = waits + there - last, perf_counter()
            trains += last - there
        stages = {"epoch_wait_s": waits + perf_counter() - last}
        return stages | ({"epoch_train_s": trains} if self.network else {})

    def start(self, numbers: list[int], shifts: list[int] | None) -> None:
        """Starts an epoch for the judge."""
        self.batches = self.strategy.epoch(Epoch(numbers, shifts))

    def next_batch(self) -> list[Any] | None:
        """Returns frames and labels of its next batch as arrays; None after the last."""
        batch = next(self.batches, None)
        self.handed_out = [(each, each.detach().clone()) for each in plain(batch or ())]
        return batch and [copy.cpu().numpy() for _, copy in self.handed_out]

    def is_unchanged(self) -> bool:
        """Tells if the batch that was handed out last is still as it was."""
        return all(bool((each == copy).all()) for each, copy in self.handed_out)


class DataWorker(Measured):
    """Runs a task and reports each of its parts as an event at once, like a network's worker."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit, job)
        self.cpu_s, self.calls = 0.0, 0

    def run(self) -> None:
        """Builds, delivers the first epoch, is proved (in the first block), then times slots."""
        with suppress(CaseEnded):
            delivery = self._built()
            epochs = Epochs(self.case, delivery.epoch, getrandbits(62))
            with (
                self._part("first_call", "error"),
                explained_faults(self.case, self.task.recordings),
            ):
                epochs.phase.call(epochs.phase.prepare(0))
            self.emit({"part": "memory", "host_peak_bytes": host_peak_bytes()})
            if self.first_block:
                self._prove(delivery)
            if self.task.timed:
                self._time(delivery, epochs)
            if self.first_block:
                stages = delivery.stages(epochs.phase.prepare(0))
                self.emit({"part": "epoch", "facts": stages})
            self._refuse_attempts("error")

    def run_proof(self) -> None:
        """Is proved and not timed."""
        with suppress(CaseEnded):
            self._prove(self._built())
            self._refuse_attempts("error")

    def _built(self) -> Delivery:
        """Returns the case's strategy with its caches."""
        adapter = cast(Loading, self._import())
        if self.case.loaders:
            _shorten_temporary_names()
        with self._part("build", "build_error"):
            if reason := adapter.refuses(self.case, self.network):
                raise Unsupported(reason)
            adapter.prepare(self.case, self.threads)
            self.task.cache.mkdir(parents=True, exist_ok=True)
            strategy = adapter.strategy(self.case, self.task.recordings, self.task.cache)
            with explained_faults(self.case, self.task.recordings):
                strategy.build()
            network = (
                NetworkBehind(self.case, self.threads, self.task.behind)
                if self.task.behind
                else None
            )
        kept_bytes = {
            name: getattr(strategy, name)() for name in ("disk_bytes", "host_bytes", "device_bytes")
        }
        self.emit({"part": "build", "facts": {**kept_bytes, "batches": batches_of(self.case)}})
        gc.collect()
        gc.freeze()
        return Delivery(strategy, self.case.device, network)

    def _prove(self, delivery: Delivery) -> None:
        """Serves the judge's calls; ends the case unless the frames and the network are right."""
        self.emit({"part": "proof"})
        request: dict[str, Any] = {"prove": {}}
        objects: dict[str, Any] = {"delivery": delivery}
        if network := delivery.network:
            request["prove"] = {"variant": [network.case.construction, network.case.mode]}
            objects["adapter"] = ProvedAdapter(network.adapter, self.threads)
        if not self.serving.until_judged(request, **objects):
            self.emit({"part": "proof", "traceback": self.serving.traceback})
            raise CaseEnded

    def _time(self, delivery: Delivery, epochs: Epochs) -> None:
        ready, sampler = {}, Sampler(epochs.phase, cast(Any, delivery))
        with suppress(CaseEnded), self._part("step", "error"):
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
        for order in self._orders():
            if "judge" in order:
                self.emit({"part": "recheck"})
                self.serving.until_judged({"recheck": self.serving.handed_over()})
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
        """Fills a slot and counts its CPU time."""
        answer = self._slot(sampler, "step", [], _arrays)
        self.cpu_s, self.calls = self.cpu_s + answer["cpu"], self.calls + answer["last"] + 1
        return answer


def _shorten_temporary_names() -> None:
    """Names the folder for temporary files by a descriptor.

    Names of the sockets through which loaders pass tensors are limited to 107 bytes; with a longer
    one the epoch would hang.
    """
    folder = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    tempfile.tempdir = f"/proc/{os.getpid()}/fd/{folder}"


def _arrays(result: Delivered) -> dict[str, Any]:
    """Returns the copied batch of an epoch for the judge."""
    arrays = {
        name: None if each is None else each.cpu().numpy()
        for name, each in (("frames", result.frames), ("labels", result.labels))
    }
    return arrays | {"number": result.number, "batches": result.batches}


class NetworkBehind:
    """The network that a case's `behind` names, by its adapter's `reference`, on the case's
    device. Raises Unsupported."""

    def __init__(self, case: Case, threads: int, reference: str) -> None:
        adapter = self.adapter = registry.load(reference)
        pattern = VariantPattern.parse(case.behind)
        (variant,) = pattern.select(adapter.constructions, adapter.modes)
        behind = self.case = trained_on(case, variant.construction, variant.mode)
        network = workload_of(behind).network(behind)
        if reason := _not_of_torch(adapter) or adapter.refuses(behind, network):
            raise Unsupported(f"{case.behind} behind: {reason}")
        adapter.prepare(behind, threads)
        self.updates, self.features = (case.recipe or "steps") in UPDATES, network.input
        self.program = cast(Program, whole(adapter.program(behind, network)))
        self.program.holds_borders = False
        self.program.load(
            {node: draw_parameters(behind, network, node) for node in network.parameters}
        )

    def train(self, frames: Any, labels: Any) -> None:
        """Trains on frames (B, T, channels) and labels (B,), tensors on the device, or computes the
        gradients alone. Frames of two polarities become images with a third channel of zeros."""
        self.program.release()
        x = frames.transpose(0, 1).contiguous()
        if len(self.features) == 3:
            images = x.new_zeros((*x.shape[:2], *self.features))
            images[:, :, :2] = x.unflatten(2, (2, *self.features[1:]))
            x = images
        if self.updates:
            self.program.step(x, labels)
        else:
            self.program.backward(self.program.forward(x), labels)


def _not_of_torch(adapter: Any) -> str | None:
    from snnbench.adapters.base.torch_adapter import TorchAdapter

    return (
        None
        if isinstance(adapter, TorchAdapter)
        else "batches are tensors of torch, which this framework does not take"
    )
