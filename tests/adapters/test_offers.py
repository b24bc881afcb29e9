"""Proves the adapters in docs/maintainers.md and docs/adapter.md, and plants faults."""

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
"""Fields of the neuron, axes of the case, words of the example and the fault in their place."""


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


@pytest.mark.slow
def test_the_example_is_proved_under_torch_compile(tmp_path):
    page = (ROOT / "docs" / "maintainers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import torch\n.*?)```", page, re.DOTALL)
    (tmp_path / "my-adapter.py").write_text(code, encoding="utf-8")
    sizes = {"neurons": 13, "time_steps": 7, "batch": 2}
    verdict = snnbench.check(
        "mine:compile", f"{tmp_path / 'my-adapter.py'}:Mine", neuron="soft", **sizes
    )
    assert verdict, verdict


@pytest.mark.slow
def test_the_adapter_in_ten_minutes_is_proved(tmp_path):
    page = (ROOT / "docs" / "adapter.md").read_text(encoding="utf-8")
    codes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for code, name, native in zip(codes, ("Mine", "Scan"), ("ok", "unsupported"), strict=True):
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        verdict = snnbench.check(
            f"{tmp_path / name}.py:{name}", neuron=["soft", "hard", "native"], **SMALL
        )
        assert [checked.status for checked in verdict] == ["ok", "unsupported", native], verdict
