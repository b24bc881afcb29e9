"""`python -m snnbench.worker VERB JOB`: the process that the harness starts for each piece of work.

JOB is a JSON file. The process writes events into a file, one JSON document a line, which survives
a crash. If the disk is full, it reports that and ends.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.jobs import Inquiry, Task
from ..machine.processes import cpu_seconds
from .sandbox import (
    HarnessDiskFull,
    die_with_parent,
    forbid_network_and_pip,
    harness_writing,
    limit_memory,
)

Job = dict[str, Any]
Emit = Callable[[dict[str, Any]], None]


def main() -> None:
    verb, job = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    die_with_parent(job["parent"])
    forbid_network_and_pip()
    limit_memory(job["memory_bytes"])
    learn_networks(job.get("networks", {}))
    answers = os.open(job["answers"], os.O_WRONLY)
    try:
        status = carry_out(verb, job)
    except HarnessDiskFull:
        os.write(answers, b'{"no_room": true}\n')
        os._exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the teardown of frameworks takes up to a second, and some crash in it


def learn_networks(networks: dict[str, str]) -> None:
    """Registers the networks of a config."""
    if networks:
        from ..workloads.user_network import learn  # imports NumPy: the limits must be set

        for reference, text in networks.items():
            learn(reference, text)


def carry_out(verb: str, job: Job) -> int:
    """Does the work and reports it; returns the exit code. Raises HarnessDiskFull."""
    part, status = "start", 0
    with open(os.open(job["events"], os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as stream:

        def emit(event: dict[str, Any]) -> None:
            nonlocal part
            part = event["part"]
            unwritten = json.dumps(event).encode() + b"\n"
            with harness_writing():
                while unwritten:  # a full disk writes a part, and the rest raises
                    unwritten = unwritten[stream.write(unwritten) :]

        try:
            VERBS[verb](job, emit)
        except HarnessDiskFull:
            raise
        except BaseException as error:  # KeyboardInterrupt and its like too
            if isinstance(error, SystemExit) and isinstance(error.code, int | None):
                raise
            from ..core.status import status_of  # imports NumPy: the limits must be set

            traceback.print_exc()
            otherwise = "crash" if isinstance(error, SystemExit) else "error"
            known, reason = status_of(error, otherwise, job.get("case", {}).get("device", ""))
            emit({"part": part, "status": known, "reason": reason})
            status = 1
        emit({"part": "end", "cpu_seconds": cpu_seconds()})
    return status


def run(job: Job, emit: Emit) -> None:
    _worker(job, emit).run()


def prove(job: Job, emit: Emit) -> None:
    _worker(job, emit).run_proof()


def _worker(job: Job, emit: Emit) -> Any:
    task = Task.from_dict(job)
    if task.case.delivers_data:
        from .data_case import DataWorker

        return DataWorker(task, emit, job)
    from .network_case import Worker

    return Worker(task, emit, job)


def profile(job: Job, emit: Emit) -> None:
    from .network_case import Profiler

    Profiler(Task.from_dict(job), emit, job).run()


def judge(job: Job, emit: Emit) -> None:
    from ..machine.cores import use_cores
    from .channel import Channel
    from .judging import serve

    use_cores(job["threads"])
    serve(Channel(job))


def free(job: Job, emit: Emit) -> None:
    from ..proof.free_run import write_free_run

    task = Task.from_dict(job)
    with harness_writing():
        write_free_run(task.case, task.free_run)


def recordings(job: Job, emit: Emit) -> None:
    """Reads all recordings of a case, so that wrong ones are named before anything is measured."""
    from ..common.mistakes import ConfigError
    from ..data.reading import inspect

    task = Task.from_dict(job)
    emit({"part": "problem"})
    try:
        inspect(task.case.dataset, task.recordings, task.case.samples)
        emit({"part": "problem", "status": "ok"})
    except ConfigError as error:
        emit({"part": "problem", "status": "build_error", "reason": str(error)})


def ceilings(job: Job, emit: Emit) -> None:
    from ..measure.ceilings import calibrate_device

    emit({"part": "calibration", "ceilings": calibrate_device(job["device"]).as_dict()})


def kernels(job: Job, emit: Emit) -> None:
    from snnbench.adapters.base.own_kernels import own_kernels

    from ..core.cuda_queue import CudaQueue
    from ..measure.ceilings import calibrate_device
    from ..measure.kernel_times import timed

    rates = calibrate_device("cuda")
    times = list(timed(CudaQueue(), own_kernels("cuda"), rates))
    emit({"part": "calibration", "ceilings": rates.as_dict(), "kernels": times})


def canary(job: Job, emit: Emit) -> None:
    from ..machine.cores import use_cores
    from ..measure.canary import seconds_of_task
    from .channel import Channel

    use_cores(job["threads"])
    channel = Channel(job)
    seconds_of_task()
    channel.answer({"ready": {}})
    for _ in channel.orders():
        wall, cpu = seconds_of_task()
        channel.answer({"wall": wall, "cpu": cpu})


def describe(job: Job, emit: Emit) -> None:
    from .describe import describe_adapter, describe_environment

    inquiry = Inquiry.from_dict(job)
    adapters = [describe_adapter(reference, inquiry) for reference in inquiry.references]
    emit(
        {
            "part": "describe",
            "adapters": adapters,
            "environment": describe_environment(inquiry.environment),
        }
    )


def network(job: Job, emit: Emit) -> None:
    from ..workloads.user_network import build_from

    made = build_from(job["function"])
    with harness_writing():
        Path(job["made"]).write_text(json.dumps(made))


def examine(job: Job, emit: Emit) -> None:
    emit({"part": "import"})
    from .examine import examine

    examine(job, emit)


def same(job: Job, emit: Emit) -> None:
    emit({"part": "import"})
    from .same import same

    same(job, emit)


def null(job: Job, emit: Emit) -> None:
    """Imports what a measuring worker imports: its duration is the harness's own cost."""
    importlib.import_module("snnbench.worker.network_case")


VERBS = {
    f.__name__: f
    for f in (
        *(run, prove, profile, judge, free, recordings, canary, describe, ceilings, kernels),
        *(network, examine, same, null),
    )
}

if __name__ == "__main__":
    main()
