"""Reads the networks of a config: NIR files are imported, functions are called by a worker."""

import json
from collections.abc import Sequence

from ..common.mistakes import ConfigError
from ..common.texts import clean
from ..executors.launch import Outcome, Surroundings, launch, scratch_apart
from ..executors.variables import worker_environment
from ..experiment.network import NetworkFault, NetworkTable
from ..experiment.nir.file import read_apart
from ..experiment.nir.network import network_of
from ..workloads.user_network import as_text, learn, reference_of

TIMEOUT_S = 60.0


def read_networks(tables: Sequence[NetworkTable], place: str) -> None:
    """Reads the networks of the config `place`, so that this process and its workers can build
    them, and sets their references. Raises ConfigError if one is no network."""
    for table in tables:
        try:
            text = _text_of_nir(table) if table.nir else _text_of_function(str(table.python))
        except NetworkFault as error:
            raise ConfigError(
                f"{place}: network.{table.key}: {table.file.name} {clean(str(error))}"
            ) from None
        table.reference = reference_of(table.called, text)
        learn(table.reference, text)


def _text_of_nir(table: NetworkTable) -> str:
    return as_text(network_of(read_apart(table.file), table))


def _text_of_function(reference: str) -> str:
    """Raises NetworkFault."""
    with scratch_apart() as scratch:
        made = scratch / "network.json"
        job = {"function": reference, "made": str(made)}
        variables = worker_environment("cpu", 0)
        surroundings = Surroundings(scratch, TIMEOUT_S, variables=variables, shared=[scratch])
        outcome = launch("network", job, surroundings)
        answer = json.loads(made.read_text()) if made.is_file() else {"fault": _ending(outcome)}
    if fault := answer.get("fault"):
        raise NetworkFault(fault)
    return str(answer["text"])


def _ending(outcome: Outcome) -> str:
    if outcome.timed_out:
        return f"gave no network within {TIMEOUT_S:.0f} s"
    last = (outcome.output_tail.strip().splitlines() or ["it said nothing"])[-1]
    return f"ended its process without a network: {last}"
