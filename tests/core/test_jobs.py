"""What a worker is given survives the way through JSON."""

import json
from pathlib import Path

import pytest

from snnbench.core.case import NATIVE, PHASES, Case
from snnbench.core.jobs import Inquiry, Task

CASE = Case("torch", neuron=NATIVE, neurons=97)
TASK = Task(CASE, "a.py:B", 2, 3, ("forward", "step"), False, Path("/free.npz"))
INQUIRY = Inquiry(("a.py:B", "b:C"), "own", ("norse:compile", "all"), (CASE, Case("")))


@pytest.mark.parametrize("given", [TASK, Inquiry(), INQUIRY, Inquiry(frameworks=None)])
def test_it_comes_back_as_it_was_written(given):
    job = {**json.loads(json.dumps(given.as_dict())), "parent": 7, "events": "/events"}
    assert type(given).from_dict(job) == given


def test_phases_are_in_the_order_in_which_they_are_timed():
    assert Task.from_dict({**TASK.as_dict(), "phases": list(reversed(PHASES))}).phases == PHASES
