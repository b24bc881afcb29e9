"""Problems, loaded programs and proofs of a case, for the tests of proof and adapters."""

import functools
import threading

from support.networks import network_of, workload_of

from snnbench.proof import stages
from snnbench.proof.calibration import calibrate
from snnbench.proof.limits import limits_of
from snnbench.proof.problem import Gains, Problem, generate, problem_case


@functools.cache
def _gains(case):
    return calibrate(case, network_of(case))


def gains_of(case):
    """The gains of a case; the same for every framework, and computed once."""
    return _gains(problem_case(case))


def problem_of(case, gains=None) -> Problem:
    """The problem of a case; `gains` are one number for all its neurons, or None: calibrated."""
    network = network_of(case)
    return generate(
        case, network, Gains(dict.fromkeys(network.neurons, gains)) if gains else gains_of(case)
    )


def loaded(adapter, case):
    """(program with the parameters of the case's problem, problem)."""
    adapter.prepare(case, 1)
    program, problem = adapter.program(case, network_of(case)), problem_of(case)
    program.load(problem.parameters)
    return program, problem


def judged(adapter, case):
    """(program, problem, the verdict on its second call)."""
    program, problem = loaded(adapter, case)
    limits = limits_of(case, network_of(case))
    return program, problem, stages.judge_program(program, problem, limits, sleep=wait_for_writers)


def wait_for_writers(seconds):
    """In place of a sleep: threads that write late have written when they have ended."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def refusal_of(adapter, case):
    return adapter.refuses(case, network_of(case))


def proof_of(adapter, case, **how):
    """The whole proof of a case, as a worker runs it. `how` goes to `prove`."""
    workload = workload_of(case)
    gains = gains_of(case)
    return stages.prove(adapter, case, workload, gains, **{"sleep": wait_for_writers, **how})
