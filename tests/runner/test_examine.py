"""What is kept of an examination that ends early, or of which a part cannot be read."""

import json

import pytest

from snnbench.report.page.examined import examined_html
from snnbench.runner import examine
from snnbench.runner.examine import Look, examine_model, swap_in_words

NEURON = {
    "module": "lif1",
    "kind": "Lif",
    "verdict": "proved",
    "equation": "no reset",
    "differs": "",
    "learned": [],
    "rate": 0.25,
    "rates": [0.0, 0.5],
    "gradients": [],
    "silent": 0.0,
}
FINDING = {"severity": "costly", "module": "lif1", "sentence": "is saturated"}
PART = {"module": "lif1", "forward_s": 0.5, "backward_s": 0.0, "kept_bytes": 3}
ANSWER = {"neurons": [NEURON], "findings": [FINDING], "cost": "a step takes", "parts": [PART]}


@pytest.fixture
def ended(monkeypatch, tmp_path):
    """Returns a function that examines with a worker that writes an answer and ends so."""

    def of(answer, status="ok", reason=None):
        def launch(verb, job, surroundings):
            with open(job["answer"], "w") as file:
                json.dump({"swap": None, **answer}, file)

        monkeypatch.setattr(examine, "launch", launch)
        monkeypatch.setattr(
            examine, "verdict", lambda end, device: {"status": status, "reason": reason}
        )
        return examine_model(tmp_path / "model.py", "net", Look((2, 1, 1)), 9.0)

    return of


def test_a_part_may_take_no_time(ended):
    """The spikes of a readout that nothing uses have no backward."""
    examined = ended(ANSWER)
    assert (examined.status, examined.parts) == ("ok", [PART])
    assert "time of a training step: 100.0% lif1" in repr(examined)


@pytest.mark.parametrize(
    ("seconds", "ratios", "words"),
    [
        ((55.2e-3, 1.72e-3), [3.91, 32.1, 37.6], "32 times as fast (4 to 38 in 3 rounds: "),
        ((102e-3, 31.8e-3), [2.1, 3.21, 3.9], "3.2 times as fast (2.1 to 3.9 in 3 rounds: "),
        ((2e-3, 4e-3), [0.49, 0.5, 0.51], "2.00 times as slow (1.96 to 2.04 in 3 rounds: "),
        ((2e-3, 2e-3), [0.9, 1.0, 1.1], "not clearly faster or slower (0.90 to 1.10 in 3 rounds: "),
    ],
)
def test_a_ratio_fits_its_times_and_has_the_digits_that_its_range_leaves(seconds, ratios, words):
    measured = {"seconds": seconds, "bytes": (4, 2), "ratios": ratios}
    swap = {"modules": ["lif1"], "refused": [], "difference": "", "measured": measured}
    (sentence,) = swap_in_words(swap)
    assert f"a training step is {words}" in sentence


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "no end after 9 s"),
        ({"parts": [PART, {**PART, "forward_s": -1.0}]}, "parts.1.forward_s = -1.0: must be"),
        ({"neurons": [NEURON, {**NEURON, "rate": float("nan")}]}, "neurons.1.rate = "),
        ({"swap": 3}, "swap = 3: must be"),
        ({"cost": 3}, "cost = 3: must be"),
        ({"findings": [FINDING, {**FINDING, "severity": "bad"}]}, "findings.1.severity = "),
    ],
)
def test_what_was_seen_is_said_in_text_json_and_html(ended, change, reason):
    status = {} if change else {"status": "timeout", "reason": "no end after 9 s"}
    examined = ended({**ANSWER, **change}, **status)
    assert examined.status != "ok"
    lines = repr(examined).splitlines()
    assert lines[:2] == ["lif1: Lif: no reset: proved", "costly · lif1 is saturated"]
    assert ("a step takes" in lines) == ("cost" not in change)
    assert lines[-1].startswith(f"{examined.model}: {examined.status}: ") and reason in repr(
        examined
    )
    page = examined_html(examined.as_dict(), [*examined.costs()])
    assert "is saturated" in page and "Time of a training step" in page
    assert (examined.as_dict()["neurons"], examined.as_dict()["parts"]) == ([NEURON], [PART])
