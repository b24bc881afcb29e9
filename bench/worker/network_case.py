"""One case in one round, in a process of its own: import, build, first call, weigh, prove, time."""

import gc
import importlib
import time
from contextlib import contextmanager, suppress

import numpy as np

from snnbench.adapters import registry
from snnbench.adapters.base.contract import BuildFailed, Unsupported

from ..cores import use_cores
from ..measure.ceilings import measure_ceilings
from ..measure.floor import Ceilings, floor, implausible
from ..measure.memory import host_memory_probe, host_peak_bytes, weigh
from ..measure.phases import phases
from ..measure.sampling import sample, seconds
from ..proof.free_run import free_run, read_free_run
from ..proof.native import excited
from ..proof.problem import proved
from ..proof.recheck import recheck
from ..proof.stages import limits_of, problem_of, prove
from ..status import declared, in_words, memory_status
from .sandbox import ATTEMPTS
from .task import Task


class Ended(Exception):
    """The case is over: its last event says how."""


class Worker:
    """Runs a task and reports every part of it as an event as soon as it is known, so that a crash loses only the rest."""

    def __init__(self, task: Task, emit):
        self.task, self.case, self.emit = task, task.case, emit
        self.first_round = task.round == 0
        self.backward_fits = True

    def run(self) -> None:
        """Prove (in the first round) and measure."""
        with suppress(Ended):
            self._measured()

    def run_proof(self) -> None:
        """Prove only, with an oracle of its own."""
        with suppress(Ended):
            self.threads = len(use_cores(self.task.threads))
            adapter = self._import()
            with self._part("build", "build_error"):
                if reason := adapter.refuses(self.case):
                    raise Unsupported(reason)
            self._prove(adapter, free_run(proved(self.case)))
            self._refuse_attempts("error")

    def _measured(self) -> None:
        self.threads = len(use_cores(self.task.threads))
        adapter = self._import()
        program, problem, free = self._build(adapter)
        inputs, upstream = self._first_call(program, problem, free, adapter)
        if self.case.native:
            problem, inputs = self._excite(program, problem)
        parts = phases(program, inputs, upstream)
        if self.first_round:
            self._weigh(program, parts)
            self._prove(adapter, read_free_run(self.task.proved_run))
        if self.task.timed:
            adapter.prepare(self.case, self.threads)
            self._time(program, problem, parts)
        self._refuse_attempts("error")

    @contextmanager
    def _part(self, name: str, on_error: str):
        """Time a part and end the case with a status if it raises."""
        self.emit({"part": name})
        start = time.perf_counter()
        try:
            yield
        except (Unsupported, BuildFailed) as error:
            self._end(name, start, declared(error), str(error))
        except ModuleNotFoundError as error:
            if on_error == "import_error":
                self._end(name, start, "env_error", f"{error.name} is not installed")
            self._end(name, start, on_error, in_words(error))
        except Ended:
            raise
        except Exception as error:
            text = in_words(error)
            self._end(name, start, memory_status(text, self.case.device) or on_error, text)
        self.emit({"part": name, "status": "ok", "seconds": time.perf_counter() - start})

    def _end(self, name, start, status, reason):
        self.emit({"part": name, "status": status, "reason": reason, "seconds": time.perf_counter() - start})
        raise Ended

    def _refuse_attempts(self, status: str) -> None:
        if ATTEMPTS:
            self.emit({"part": "sandbox", "status": status, "reason": f"tried to start {ATTEMPTS[0]}; workers may not"})
            raise Ended

    # -- parts -----------------------------------------------------------------------------------------------

    def _import(self):
        with self._part("import", "import_error"):
            adapter = registry.load(self.task.reference)
            for name in adapter.requires:
                importlib.import_module(name)
        self._refuse_attempts("import_error")
        return adapter

    def _build(self, adapter):
        with self._part("problem", "error"):
            free = read_free_run(self.task.own_run)
            self.fixed = adapter.fixed_point(self.case)
            problem = problem_of(self.case, free.gains, self.fixed)
        with self._part("build", "build_error"):
            if reason := adapter.refuses(self.case):
                raise Unsupported(reason)
            adapter.prepare(self.case, self.threads)
            program = adapter.program(self.case)
            program.load(problem.weights, problem.biases)
        return program, problem, free

    def _first_call(self, program, problem, free, adapter):
        """Cold calls. A framework that fails here for another reason than memory is proved first: that names the fault."""
        inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
        self.emit({"part": "first_call"})
        start = time.perf_counter()
        try:
            result = program.forward(inputs[0])
            program.wait(result)
            took = time.perf_counter() - start
            facts = program.facts(result) | self._compared(program, result, problem, free, adapter)
            upstream = program.put_upstream(problem.upstream, result)
        except Exception as error:
            self._first_call_failed(start, error, adapter)
        resumed = time.perf_counter()
        try:
            program.wait(program.backward(result, upstream))
            took += time.perf_counter() - resumed
            self.emit({"part": "first_call", "status": "ok", "seconds": took, "facts": facts | program.compile_facts()})
        except Exception as error:
            text = in_words(error)
            if not (status := memory_status(text, self.case.device)):
                self._first_call_failed(start, error, adapter)
            self.backward_fits = False  # but forward does, and its figures are worth having
            self.emit({"part": "first_call", "status": status, "reason": text, "facts": facts})
        gc.freeze()  # what the framework imported stays: collections between samples need not walk it
        return inputs, upstream

    def _compared(self, program, result, problem, free, adapter) -> dict:
        """What the first spikes say beside the oracle's own; for a native neuron, which has none, what it is."""
        if self.case.native:
            return {"native": adapter.native_description}
        return {"spike_mismatch": free.mismatch(program.spikes(result)[-1], problem.rows)}

    def _excite(self, program, problem):
        with self._part("excitation", "error"):
            problem, factor = excited(program, problem)
        self.emit({"part": "excitation", "facts": {"input_scale": factor}})
        return problem, [program.put_input(problem.input), program.put_input(problem.other_input)]

    def _first_call_failed(self, start, error, adapter):
        if status := declared(error):
            self._end("first_call", start, status, str(error))
        text = in_words(error)
        status = memory_status(text, self.case.device)
        if status is None and self.first_round:
            self._prove(adapter, read_free_run(self.task.proved_run))
        self._end("first_call", start, status or "error", text)

    def _weigh(self, program, parts):
        probe = program.memory_probe() or host_memory_probe()
        if probe is None:
            self.emit({"part": "memory", "warnings": ["W-MEMORY: the kernel does not let a process reset its memory mark"]})
            return
        case = self.case
        size = np.dtype(np.float32).itemsize if case.precision in ("fp32", "tf32", "amp-bf16") else 2
        border = case.time_steps * case.batch * case.neurons * size
        figures, program.holds_borders = {}, False
        for name in self.task.phases:
            arguments = program.argument_bytes() + border * (1 if name in ("forward", "inference") else 2)
            with suppress(Ended), self._part("memory", "error"):  # a phase may not fit where others do
                figures[name] = weigh(parts[name], program, probe, arguments)
        program.holds_borders = True
        self.emit({"part": "memory", "memory": figures, "meaning": probe.meaning, "host_peak_bytes": host_peak_bytes()})

    def _prove(self, adapter, free):
        with self._part("proof", "error"):
            if free.unsuitable:
                raise Unsupported(free.unsuitable)
            proof = prove(adapter, self.case, free.gains, backward_fits=self.backward_fits)
        self.emit({"part": "proof", "proof": {**proof.as_dict(), **free.facts()}})
        if not proof.passed:
            self.emit({"part": "proof", "status": "check_failed", "reason": proof.reason})
            raise Ended

    def _time(self, program, problem, parts):
        """Samples of every phase, then the ceilings. A phase that does not fit does not take the others with it."""
        measured, rate = {}, self.task.rel_ci
        budget = self.task.budget_s / len(self.task.phases)
        for name in self.task.phases:
            try:
                with self._part(name, "error"):
                    samples, result, index = sample(parts[name], program, rate, budget)
                measured[name] = samples
                x = (problem.input, problem.other_input)[index % 2]
                with self._part("recheck", "error"):
                    found = recheck(program, problem, parts, name, result, x, limits_of(self.case, self.fixed), self.case.native)
                told = {"samples": samples.as_dict(), "warnings": samples.warnings(), "facts": program.compile_facts()}
                self.emit({"part": name, **told, **found})
                result = None
            except Ended:
                continue
        if measured:
            self._floor(program, measured)

    def _floor(self, program, measured):
        """Refuse times that the device cannot reach. A busy moment hides what it can, so a refusal is measured again."""
        flops = copied = 0.0
        with self._part("ceilings", "error"):
            for pause in (0.0, 0.2, 0.4, 0.8, 1.6):
                time.sleep(pause)
                seen = measure_ceilings(program, self.case)
                flops, copied = max(flops, seen.flops), max(copied, seen.bytes)
                floors = {name: floor(self.case, name, Ceilings(flops, copied)) for name in measured}
                reasons = {name: implausible(self.case, seconds(s), floors[name]) for name, s in measured.items()}
                if not any(reasons.values()):
                    break
        self.emit({"part": "ceilings", "flops_per_s": _finite(flops), "bytes_per_s": copied})
        for name, reason in reasons.items():
            self.emit({"part": name, "floor_s": floors[name]})
            if reason:
                self.emit({"part": name, "status": "implausible", "reason": reason})


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
