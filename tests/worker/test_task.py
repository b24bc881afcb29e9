"""What a worker is given survives the way through JSON."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from snnbench.adapters.base.case import NATIVE, PHASES, Case
from snnbench.worker.task import Inquiry, Task

CASE = Case("torch", neuron=NATIVE, neurons=97)
OTHER = Task(CASE, "a.py:B", 2, 3, ("forward", "step"), 1.5, 0.05, False, Path("/own.npz"), Path("/proved.npz"))
INQUIRY = Inquiry(("a.py:B", "b:C"), "own", ("norse:compile", "all"), (CASE, Case("")))


@pytest.mark.parametrize("given", [Task(CASE, "a.py:B"), OTHER, Inquiry(), INQUIRY, Inquiry(frameworks=None)])
def test_it_comes_back_as_it_was_written(given):
    job = {**json.loads(json.dumps(given.as_dict())), "parent": 7, "events": "/events"}
    assert type(given).from_dict(job) == given


def test_the_other_task_differs_in_every_field():
    default = Task(Case("torch"), "x:Y")
    assert [each.name for each in fields(Task) if getattr(default, each.name) == getattr(OTHER, each.name)] == []


def test_phases_are_in_the_order_in_which_they_are_timed():
    assert Task.from_dict({**OTHER.as_dict(), "phases": list(reversed(PHASES))}).phases == PHASES
