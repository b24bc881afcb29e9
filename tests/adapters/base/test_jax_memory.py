"""Memory of JAX on a GPU: each phase has its own, whatever was called before."""

from types import SimpleNamespace

from support.networks import network_of
from support.proofs import problem_of

from snnbench.adapters.base.jax_memory import JaxMemory
from snnbench.adapters.jax_scan import JaxScan
from snnbench.core.case import Case
from snnbench.measure.memory import weigh
from snnbench.measure.phases import Phases

CASE = Case("jax", time_steps=37, batch=3, neurons=97)


def weighed(order):
    program, problem = JaxScan().program(CASE, network_of(CASE)), problem_of(CASE)
    program.load(problem.parameters)
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    phases = Phases(
        program, inputs, program.put_upstream(problem.upstream, program.forward(inputs[0])), 7
    )
    probe = JaxMemory(program)
    program.device = SimpleNamespace(
        memory_stats=lambda: {"bytes_in_use": 1000, "peak_bytes_in_use": 1 << 40}
    )
    return {name: weigh(phases.by_name[name], program, probe, 0) for name in order}


def test_a_phase_does_not_show_what_an_earlier_one_took():
    """The counter's peak is that of the process, here a terabyte."""
    first, last = weighed(("step", "inference")), weighed(("inference", "step"))
    assert first == last
    weights = 97 * 97 * 4
    assert first["inference"]["peak_bytes"] < first["step"]["peak_bytes"] < 1 << 30
    assert first["step"]["peak_bytes"] >= 2 * weights, "what it reads, and what it updated"
    assert first["step"]["reserved_bytes"] is None
