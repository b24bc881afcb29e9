"""One case in one block: import, build, first call, memory, proof, timing."""

import gc
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import asdict
from functools import partial
from random import getrandbits
from time import perf_counter
from typing import Any, NoReturn, cast

from ..common import units
from ..core.complete import whole
from ..core.contract import Adapter, Program, Unsupported
from ..core.jobs import Task
from ..measure.ceilings import reaching
from ..measure.floor import nonzero_share, shortest
from ..measure.learning import learned
from ..measure.memory import (
    RetainedMemory,
    host_memory_probe,
    host_peak_bytes,
    outside_host_peak,
    weigh,
)
from ..measure.phases import Phases, draw_of
from ..measure.queued import device_times
from ..measure.slots import Sampler
from ..proof.free_run import FreeRun, read_free_run
from ..proof.limits import limits_of
from ..proof.native import with_firing_input
from ..proof.problem import Problem
from ..proof.recheck import Timed, unlike_unweighed
from ..proof.stages import problem_of
from ..workloads.task import batch_of
from .handover import decode, encode
from .measured import Measured
from .parts import CaseEnded
from .serving import ProvedAdapter, answer_of

MOST_GROWN_BYTES = 1 << 24
"""Growth of the memory that stays between calls, while they are timed, beyond which a record has a
warning: calls after the weighed ones are in no figure."""


class Worker(Measured):
    """Runs a task and reports each of its parts as an event at once; a crash loses only the rest.

    The judge, another process, decides what is right by calls that are served here.
    """

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit, job)
        self.backward_fits, self.input_scale, self.step_peak_bytes = True, 1.0, 0
        self.retained: RetainedMemory | None = None

    def run(self) -> None:
        """Measures memory and is proved (in the first block), then times slots as ordered."""
        with self.closing, suppress(CaseEnded):
            adapter = self._import()
            program, problem, free = self._build(adapter)
            inputs, upstream = self._first_call(program, problem, free, adapter)
            if self.case.native:
                with self._part("excitation", "error"):
                    # A silent neuron shows nothing.
                    problem, self.input_scale = with_firing_input(program, problem)
                self.emit({"part": "excitation", "facts": {"input_scale": self.input_scale}})
                inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
            phases = Phases(program, inputs, upstream, getrandbits(62), problem.statistics)
            if self.first_block:
                faults = self._weigh(program, phases, problem)
                self._prove(adapter, program)  # first: it names what is wrong in every call
                program.release()
                if faults:
                    self._end("memory", "check_failed", "; ".join(faults))
            if self.task.timed:
                adapter.prepare(self.case, self.threads)
                self._time(adapter, program, problem, phases)
            if self.first_block and (self.case.loss or self.case.optimizer):
                self._remarked(
                    "breakdown", partial(_breakdown, program, phases, self.step_peak_bytes)
                )
            if self.first_block and self.case.loss:
                self._remarked(
                    "learning",
                    partial(learned, program, partial(batch_of, self.case, self.network)),
                )
            if self.first_block and (distributed := getattr(program, "distributed", None)):
                arrays = problem.parameters, problem.input, problem.upstream
                self._remarked("distributed", partial(distributed, *arrays))
            self._refuse_attempts("error")

    def run_proof(self) -> None:
        """Is proved and not timed."""
        with self.closing, suppress(CaseEnded):
            adapter = self._import()
            with self._part("build", "build_error"):
                if reason := adapter.refuses(self.case, self.network):
                    raise Unsupported(reason)
            self._prove(adapter)
            self._refuse_attempts("error")

    def _build(self, adapter: Adapter) -> tuple[Program, Problem, FreeRun]:
        with self._part("problem", "error"):
            free = read_free_run(self.task.free_run)
            self.fixed = adapter.fixed_point(self.case)
            self.network = free.of(self.network)
            problem = problem_of(self.case, self.network, free.gains, self.fixed)
            problem.statistics = free.statistics
        with self._part("build", "build_error"):
            if reason := adapter.refuses(self.case, self.network):
                raise Unsupported(reason)
            adapter.prepare(self.case, self.threads)
            program = cast(Program, whole(adapter.program(self.case, self.network)))
            program.load(problem.parameters)
        return program, problem, free

    def _first_call(
        self, program: Program, problem: Problem, free: FreeRun, adapter: Adapter
    ) -> tuple[list[Any], Any]:
        """Makes the cold calls. A framework that fails here, but not for memory, is proved first:
        the proof names the fault."""
        inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
        self.emit({"part": "first_call"})
        start = perf_counter()
        try:
            program.roll_parameters(0)  # makes copies that are not the program's
            if self.first_block and (
                probe := program.memory_probe() or host_memory_probe(self.case.ranks or 1)
            ):
                self.retained = RetainedMemory(probe)
                self.emit({"part": "memory", "seconds": perf_counter() - start})
                self.emit({"part": "first_call"})
            start = perf_counter()
            result = program.forward(inputs[0])
            program.wait(result)
            took = perf_counter() - start
            facts = {**program.facts(result)}
            if self.case.native:
                facts["native"] = adapter.native_description
            else:
                facts["spike_mismatch"] = free.mismatch(program.spikes(result)[problem.last])
            with self.retained.excluding() if self.retained else nullcontext():
                upstream = program.put_upstream(problem.upstream, result)
        except Exception as error:
            self._first_call_failed(start, error, adapter)
        resumed = perf_counter()
        try:
            program.wait(program.backward(result, upstream))
            took += perf_counter() - resumed
            self.emit(
                {
                    "part": "first_call",
                    "status": "ok",
                    "seconds": took,
                    "facts": facts | program.compile_facts(),
                }
            )
        except Exception as error:
            status, reason = self._status_of(error, "error")
            if status not in ("oom_gpu", "oom_host"):
                self._first_call_failed(start, error, adapter)
            self.backward_fits = False  # forward does, and its figures are kept
            self.emit({"part": "first_call", "status": status, "reason": reason, "facts": facts})
        gc.collect()
        gc.freeze()  # later collections skip what the framework imported
        return inputs, upstream

    def _first_call_failed(self, start: float, error: Exception, adapter: Adapter) -> NoReturn:
        status, reason = self._status_of(error, "error")
        if status == "error" and self.first_block:
            self._prove(adapter)
        self._end(
            "first_call",
            status,
            reason,
            seconds=perf_counter() - start,
            **self._where(error, status),
        )

    def _weigh(self, program: Program, phases: Phases, problem: Problem) -> list[str]:
        """Weighs a call of every phase; returns what one of them computed otherwise than a call
        that is not weighed."""
        if self.retained is None:
            self.emit(
                {
                    "part": "memory",
                    "warnings": [
                        "W-MEMORY: the kernel does not let a process reset its memory mark"
                    ],
                }
            )
            return []
        size = 4 if self.case.precision in ("fp32", "tf32", "amp-bf16") else 2
        input_bytes, upstream_bytes = size * problem.input.size, size * problem.upstream.size
        if self.case.loss is not None:
            upstream_bytes = problem.upstream.nbytes  # labels
        figures, program.holds_borders, faults = {}, False, list[str]()
        for name in self.task.phases:
            arguments = input_bytes + (0 if name in ("forward", "inference") else upstream_bytes)
            arguments //= self.case.ranks or 1
            weighed = dict[str, Any]()

            def keep(number: int, result: Any, name: str = name, kept: Any = weighed) -> None:
                with outside_host_peak():
                    answer = encode(answer_of(program, result, name, phases), self.arrays)
                kept.update(number=number, answer=answer)

            # A phase may not fit into memory where others do.
            with suppress(CaseEnded), self._part("memory", "error"):
                phase, probe = phases.by_name[name], self.retained.probe
                figures[name] = weigh(phase, program, probe, arguments, keep)
                phases.forget()
                figures[name]["kept_bytes"] = self.retained.bytes()
                with outside_host_peak(), self.retained.excluding():
                    faults += self._unlike_unweighed(program, phases, problem, name, **weighed)
        program.holds_borders = True
        self.step_peak_bytes = int(figures.get("step", {}).get("peak_bytes") or 0)
        self.emit(
            {
                "part": "memory",
                "memory": figures,
                "memory_meaning": self.retained.probe.meaning,
                "host_peak_bytes": host_peak_bytes(),
            }
        )
        return faults

    def _unlike_unweighed(
        self,
        program: Program,
        phases: Phases,
        problem: Problem,
        name: str,
        number: int,
        answer: Any,
    ) -> list[str]:
        """Returns what a weighed call of a phase computed otherwise than the same call with the
        spikes of every neuron. A call that does not fit into memory then is not compared."""
        draw = draw_of(phases.seed, number, name, len(phases.inputs))
        weighed = Timed(name, self.case.precision, draw, None, decode(answer, self.arrays))
        program.holds_borders = True
        try:
            result = phases.by_name[name].call(phases.by_name[name].prepare(number))
            program.wait(result)
            unweighed = answer_of(program, result, name, phases)
        except Exception:  # it will be timed, and then named
            return []
        finally:
            program.holds_borders = False
            phases.forget()
        limits = limits_of(self.case, problem.network, self.fixed)
        return [
            f"{name} while memory was weighed: {fault}"
            for fault in unlike_unweighed(problem, weighed, unweighed, limits)
        ]

    def _prove(self, adapter: Adapter, program: Program | None = None) -> None:
        """Serves the judge's calls, at the case's own size with `program`; ends the case unless it
        computes the same network."""
        self.emit({"part": "proof"})
        request = {"prove": {"backward": self.backward_fits, "timed": program is not None}}
        objects: dict[str, Any] = {"adapter": ProvedAdapter(adapter, self.threads)}
        objects |= {} if program is None else {"program": program}
        if not self.serving.until_judged(request, **objects):
            self.emit({"part": "proof", "traceback": self.serving.traceback})
            raise CaseEnded

    def _time(self, adapter: Adapter, program: Program, problem: Problem, phases: Phases) -> None:
        """Warms every phase up, times slots as ordered, and serves the judge of their last calls.

        A phase that does not fit into memory does not end the others. The device's best rates are
        reported at the end.
        """
        samplers, ready = dict[str, Sampler](), dict[str, dict[str, Any]]()
        kept = self.retained.bytes() if self.retained else 0
        for name in self.task.phases:
            with suppress(CaseEnded), self._part(name, "error"):
                sampler = Sampler(phases.by_name[name], program)
                calls = sampler.warm_up()
                samplers[name] = sampler
                ready[name] = {
                    "device_clock": program.device_clock,
                    "warm_up_calls": calls,
                    "seconds": sampler.typical,
                }
                ready[name]["period"] = sampler.period
        gc.collect()
        gc.freeze()
        self.channel.answer({"ready": ready})
        seen: dict[str, list[dict[str, Any]]] = {name: [] for name in samplers}
        judged = {
            "adapter": ProvedAdapter(adapter, self.threads),
            "program": program,
            "phases": phases,
        }
        for order in self._orders():
            name = order["phase"]
            if "judge" in order:
                answer = {**self.serving.handed_over(), "input_scale": self.input_scale}
                self.emit({"part": "recheck"})
                if not self.serving.until_judged(
                    {"recheck": answer}, **judged, result=samplers[name].result
                ):
                    self.emit({"part": "recheck", "traceback": self.serving.traceback})
                self.channel.answer({})
                continue
            for sampler in samplers.values():
                sampler.result = None  # frees its memory for the next calls
            phases.seed = order["seed"]
            read = partial(answer_of, program, phase=name, phases=phases)
            work = partial(self._slot, samplers[name], name, seen[name], read)
            if "burst" in order:
                work = partial(self._burst, samplers[name], order["burst"])
            if "device" in order:
                work = partial(self._device, samplers[name], phases, name, seen[name])
            self.channel.answer(self._carried_out(name, work))
        self._refuse_attempts("error")
        for sampler in samplers.values():
            sampler.result = None
        phases.forget()
        if self.retained and (more := self.retained.bytes() - kept) > MOST_GROWN_BYTES:
            warning = f"W-MEMORY: keeps {units.size(more)} more after its timed calls, in no figure"
            self.emit({"part": "memory", "warnings": [warning]})
        for name in samplers:
            self.emit({"part": name, "facts": program.compile_facts()})
        if timed := {
            name: shortest(slots, program.device_clock) for name, slots in seen.items() if slots
        }:
            self._ceilings(program, nonzero_share([problem.input, problem.other_input]), timed)

    def _device(
        self, sampler: Sampler, phases: Phases, name: str, seen: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Returns seconds of a call on the device alone and adds them to the last slot in `seen`.

        Without memory for this the phase goes on without them.
        """
        try:
            times = (
                device_times(sampler.queue, phases, name, sampler.typical) if sampler.queue else {}
            )
            seen[-1] |= times
            return {"device": times}
        except Exception as error:
            self.emit(
                {
                    "part": name,
                    "warnings": [
                        f"W-DEVICE: no time on the device: {self._status_of(error, 'error')[1]}"
                    ],
                }
            )
            phases.forget()
            return {"device": {}}

    def _ceilings(self, program: Program, nonzero: float, timed: dict[str, float]) -> None:
        """Reports the device's rates (in the first block): faster times will be rejected."""
        ceilings: dict[str, Any] = {"rates": {}}
        if self.first_block:
            with self._part("ceilings", "error"):
                best = reaching(program, self.case, self.network, nonzero, timed)
            rates = {
                "flops_per_s": max(best.products.values(), default=None),
                "bytes_per_s": max(best.copies.values()),
            }
            ceilings = {"rates": best.as_dict(), **rates}
        self.emit({"part": "ceilings", **ceilings, "nonzero": nonzero})


class Profiler(Worker):
    """Takes one step of a case apart and writes a trace of it; proves and times nothing."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit, job)
        self.trace: str = job["trace"]

    def run(self) -> None:
        with suppress(CaseEnded):
            adapter = self._import()
            program, problem, free = self._build(adapter)
            inputs, upstream = self._first_call(program, problem, free, adapter)
            program.holds_borders = False
            with self._part("breakdown", "error"):
                breakdown = program.breakdown(inputs[0], upstream, self.trace)
            self.emit({"part": "breakdown", "breakdown": asdict(breakdown)})
            self._refuse_attempts("error")


def _breakdown(program: Program, phases: Phases, step_peak_bytes: int) -> dict[str, Any]:
    """Returns the program's breakdown of a step. Workspace is the weighed peak of a step less all
    other kinds of memory: libraries allocate some that no framework sees, and not all allocated
    memory is touched."""
    phases.forget()
    program.holds_borders = False  # as in the weighed calls
    breakdown = program.breakdown(phases.inputs[0], phases.given_upstream)
    if breakdown.bytes and step_peak_bytes:
        others = sum(size for kind, size in breakdown.bytes.items() if kind != "workspace")
        breakdown.bytes["workspace"] = max(step_peak_bytes - others, 0)
    return asdict(breakdown)
