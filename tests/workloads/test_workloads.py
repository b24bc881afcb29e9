"""Named networks: the sizes at which they are proved."""

import pytest

from snnbench.core.case import Case
from snnbench.workloads import WORKLOADS


@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
def test_every_proof_begins_at_37_steps_3_items_and_97_neurons(workload):
    small = WORKLOADS[workload].small_case(
        Case("any", workload=workload, neurons=4096, input="dense")
    )
    assert (small.time_steps, small.batch, small.neurons, small.input) == (37, 3, 97, "spikes")
