"""What docs/maintainers.md says an adapter can declare: its example is proved with each of these, and what is wrong is seen."""

import re

import pytest
from support.paths import ROOT

import snnbench

SMALL = {"neurons": 31, "time_steps": 41, "batch": 3}
OFFERS = {
    "current": ({"current_decay": 0.75}, {}, "self.spec.current_decay * i + x", "x"),
    "threshold": (
        {"adaptation": 0.1, "adaptation_decay": 0.9},
        {},
        " + self.spec.adaptation * s",
        "",
    ),
    "decay": (
        {"learned_decay": "direct"},
        {"loss": "spike-count", "optimizer": "adam"},
        "self.beta * v",
        "self.spec.decay * v",
    ),
}
"""Fields of the neuron, axes of the case, and words of the example with a fault to put in their place."""


@pytest.mark.slow
@pytest.mark.parametrize("offer", OFFERS)
def test_the_example_is_proved_and_a_fault_in_it_is_seen(offer, tmp_path):
    fields, axes, right, wrong = OFFERS[offer]
    page = (ROOT / "docs" / "maintainers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import torch\n.*?)```", page, re.DOTALL)
    assert right in code
    for name, text in (("mine", code), ("faulty", code.replace(right, wrong))):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        verdict = snnbench.check(
            f"{tmp_path / name}.py:Mine", neuron={"reset": "soft", **fields}, **SMALL, **axes
        )
        assert bool(verdict) == (name == "mine"), verdict
