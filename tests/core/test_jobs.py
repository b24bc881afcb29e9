"""What a worker is given survives the way through JSON."""

import json
from pathlib import Path

import pytest

from snnbench.core.case import NATIVE, PHASES, Case
from snnbench.core.jobs import Inquiry, Task
from snnbench.core.variant import VariantPattern, parse_variants

CASE = Case("torch", neuron=NATIVE, neurons=97)
TASK = Task(CASE, "a.py:B", 2, 3, ("forward", "step"), False, Path("/free.npz"))
PATTERNS = tuple(parse_variants(["norse:compile", "norse@1.0.0:lif", "all"]))
INQUIRY = Inquiry(("a.py:B", "b:C"), "own", PATTERNS, (CASE, Case("")))


@pytest.mark.parametrize("given", [TASK, Inquiry(), INQUIRY, Inquiry(frameworks=None)])
def test_it_comes_back_as_it_was_written(given):
    job = {**json.loads(json.dumps(given.as_dict())), "parent": 7, "events": "/events"}
    assert type(given).from_dict(job) == given


def test_phases_are_in_the_order_in_which_they_are_timed():
    assert Task.from_dict({**TASK.as_dict(), "phases": list(reversed(PHASES))}).phases == PHASES


def test_an_inquiry_in_the_environment_of_a_version_names_no_version():
    assert INQUIRY.about_version("norse", "1.0.0").frameworks == (
        VariantPattern.parse("norse:lif"),
    )
    assert INQUIRY.about_version("norse", "0.9").frameworks is None
