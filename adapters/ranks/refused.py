"""Reasons why ranks, of torch or JAX, cannot compute a case together."""

from snnbench.core.case import Case
from snnbench.core.contract import Adapter
from snnbench.core.network import OVER_TIME, Network


def cannot_share(adapter: Adapter, case: Case, network: Network) -> str | None:
    """Returns the reason why ranks cannot share a case of an adapter, or None."""
    shared, count = (
        ("a batch", case.batch) if case.parallel == "data" else ("time steps", case.time_steps)
    )
    if case.device != "cpu":
        return "several ranks are offered on CPUs: on GPUs they were never tried"
    if case.mode != "eager":
        return f"several ranks are offered in mode eager, not in {case.mode}"
    if case.native:
        return "a native neuron is measured by one rank"
    if count < case.ranks:
        return f"{case.ranks} ranks cannot share {shared} of {count}"
    if case.parallel == "data":
        return None
    if not adapter.has_trait("resumable", case):
        return (
            f"{adapter.name}'s neurons in construction {case.construction!r} hand no state in and "
            "out: ranks cannot share their time steps"
        )
    in_time = {"integrator", "mix_time", "delayed", *OVER_TIME} - {"mean_time"}
    if kind := next((node.kind for node in network.nodes if node.kind in in_time), None):
        return f"a node {kind} is offered to ranks with all its time steps"
    if network.has_neuron("potentials"):
        return "a neuron that hands out potentials is offered to ranks with all its time steps"
    if any(
        network.steps(node.inputs[0], 2) == 1
        for node in network.nodes
        if node.kind in ("neuron", "norm")
    ):
        return (
            "a neuron or a norm behind a mean over time is offered to ranks with all its time steps"
        )
    if case.loss and network.steps(network.output.name, 2) > 1:
        return f"loss {case.loss} is of all time steps together, of which no rank has all"
    return None
