"""The networks that a config brings become known: NIR files are imported here, functions are called by a worker."""

import json
from pathlib import Path

from ..common.mistakes import ConfigError
from ..common.texts import clean
from ..executors.launch import Outcome, Surroundings, launch, scratch_apart
from ..executors.variables import worker_environment
from ..experiment.config import Experiment
from ..experiment.network import NetworkFault, NetworkTable
from ..experiment.nir.apart import read_apart
from ..experiment.nir.network import network_of
from ..workloads.own import as_text, learn, reference_of

TIMEOUT_S = 60.0


def with_networks(experiment: Experiment, place: str) -> Experiment:
    """The experiment, with its networks known to this process and its workers; `place` names its config. Raises
    ConfigError for what is no network."""
    known = []
    for table in experiment.network:
        try:
            text = (
                _of_file(Path(table.nir), table) if table.nir else _of_function(str(table.python))
            )
        except NetworkFault as error:
            raise ConfigError(
                f"{place}: network.{table.key}: {table.file.name} {clean(str(error))}"
            ) from None
        reference = reference_of(table.called, text)
        learn(reference, text)
        known.append(table.known_as(reference))
    return experiment.model_copy(update={"network": known})


def _of_file(path: Path, table: NetworkTable) -> str:
    """The text of the network in a NIR file. Raises NetworkFault."""
    return as_text(network_of(read_apart(path), table))


def _of_function(reference: str) -> str:
    """The text of the network that a function returns. Raises NetworkFault."""
    with scratch_apart() as scratch:
        made = scratch / "network.json"
        job = {"function": reference, "made": str(made)}
        variables = worker_environment("cpu", 0)
        surroundings = Surroundings(scratch, TIMEOUT_S, variables=variables, shared=[scratch])
        outcome = launch("network", job, surroundings)
        answer = json.loads(made.read_text()) if made.is_file() else {"fault": _ended(outcome)}
    if fault := answer.get("fault"):
        raise NetworkFault(fault)
    return str(answer["text"])


def _ended(outcome: Outcome) -> str:
    """How a process ended that gave no network."""
    if outcome.timed_out:
        return f"gave no network within {TIMEOUT_S:.0f} s"
    last = (outcome.output_tail.strip().splitlines() or ["it said nothing"])[-1]
    return f"ended its process without a network: {last}"
