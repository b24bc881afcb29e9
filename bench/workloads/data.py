"""`data`: recordings of events become batches of frames."""

from ..core.case import DATA, DATA_AXES, NETWORK_FIELDS, Case
from ..core.datasets import form_of
from ..core.network import INPUT, Network, Node
from .workload import workload

NOTHING = {
    **dict.fromkeys(NETWORK_FIELDS),
    "firing": None,
    "loss": None,
    "optimizer": None,
    "precision": "fp32",
}
NOTHING |= {"parallel": None, "ranks": None}


@workload(DATA, axes=DATA_AXES, small={"time_steps": 37, "batch": 3}, fixed=NOTHING)
def data(case: Case) -> Network:
    """No network: an epoch of recordings, delivered as batches of frames."""
    return Network(form_of(case.dataset).features, (Node("frames", "flatten", (INPUT,)),))
