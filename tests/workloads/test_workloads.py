"""Named networks: the sizes at which they are proved."""

from dataclasses import replace

import pytest

from snnbench.adapters.base.case import Case
from snnbench.workloads import WORKLOADS


def test_wide_stacks_are_proved_at_2048():
    wide, proved = Case("any", neurons=4096), WORKLOADS["linear-lif"].proved_case
    assert proved(wide) == wide
    assert proved(replace(wide, layers=2)).neurons == 2048
    assert proved(replace(wide, layers=2, neurons=100)).neurons == 100
    alone = replace(wide, workload="lif")
    assert WORKLOADS["lif"].proved_case(alone) == alone


@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
def test_every_proof_begins_at_37_steps_3_items_and_97_neurons(workload):
    small = WORKLOADS[workload].small_case(Case("any", workload=workload, neurons=4096, input="dense"))
    assert (small.time_steps, small.batch, small.neurons, small.input) == (37, 3, 97, "spikes")
