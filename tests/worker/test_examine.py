"""What an examination says of right models, and of complaints of users."""

import json
import sys

import pytest
from support.paths import FAULTS

from snnbench.worker.examine import examine

RIGHT, COMPLAINTS = (FAULTS / "models" / name for name in ("right.py", "complaints.py"))
SHAPE = (17, 3, 11)


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """Returns a function that examines a model in this process, and returns the answer."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def of(file, name, axes="tbf", shape=SHAPE):
        answer, events = tmp_path / "examined.json", []
        job = {"file": str(file), "name": name, "shape": shape, "axes": axes}
        examine({**job, "answer": str(answer), "quick": True}, events.append)
        assert events[-1].get("status") == "ok", events[-1]
        return json.loads(answer.read_text())

    return of


def sentences(answer, severity):
    return [
        f"{finding['module']} {finding['sentence']}"
        for finding in answer["findings"]
        if finding["severity"] == severity
    ]


TUTORIALS = {
    # model: (layout, equations of its neurons)
    "SnnTorchLoop": (
        "tbf",
        [
            "soft-undecayed, detached, decay 0.9, threshold 1, surrogate atan of slope 1",
            "soft-undecayed, detached, decay 0.8, threshold 1, surrogate atan of slope 1",
        ],
    ),
    "SnnTorchHidden": (
        "tbf",
        [
            "hard, detached, decay 0.5, threshold 1, surrogate atan of slope 1",
            "soft-undecayed, detached, decay 0.5, threshold 1, surrogate atan of slope 1",
        ],
    ),
    "norse_sequential": (
        "tbf",
        [
            "hard, attached, decay 0.9, threshold 1, surrogate superspike of slope 1, "
            "currents times 0.1"
        ],
    ),
    "norse_lifted": (
        "tbf",
        [
            "hard, attached, decay 0.9, synapse 0.8, threshold 1, surrogate superspike of slope 1, "
            "currents times 0.1"
        ],
    ),
    "spikingjelly_multi_step": (
        "tbf",
        [
            "hard, attached, decay 0.5, threshold 1, surrogate atan of slope 1, currents times 0.5",
            "hard, detached, decay 1, threshold 1, surrogate atan of slope 1",
        ],
    ),
    "spikingjelly_step": (
        "bf",
        [
            "hard, attached, decay 0.5, threshold 1, surrogate sigmoid of slope 4, "
            "currents times 0.5"
        ],
    ),
    "sinabs_sequential": (
        "btf",
        [
            "soft, attached, decay 0.951229, threshold 1, many spikes a step, surrogate 2 times "
            "exponential of slope 2, currents times 0.048771",
            "soft, attached, decay 1, threshold 1, many spikes a step, surrogate 2 times "
            "exponential of slope 2",
        ],
    ),
}


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_right_model_has_no_fault_and_its_neurons_are_proved(examined, name):
    axes, equations = TUTORIALS[name]
    answer = examined(RIGHT, name, axes)
    assert sentences(answer, "wrong") == []
    assert [neuron["equation"] for neuron in answer["neurons"]] == equations
    assert [neuron["verdict"] for neuron in answer["neurons"]] == ["proved"] * len(equations)


def test_a_neuron_that_is_no_equation_here_is_called_so(examined):
    answer = examined(RIGHT, "rockpool_sequential", "btf")
    assert sentences(answer, "wrong") == []
    (neuron,) = answer["neurons"]
    assert (neuron["kind"], neuron["verdict"]) != ("Rockpool's LIFTorch", "proved")
    assert neuron["kind"] == "Rockpool's LIFTorch"


NAMED = {
    # model: (severity, module, words)
    "NoReset": ("wrong", "lif1, lif2", "keep their state from one call to the next"),
    "reset_forgotten": ("to know", "lif1", "functional.reset_net(net) runs before every"),
    "Silent": ("costly", "lif2", "is silent: none of its 5 neurons fires"),
    "Saturated": ("costly", "lif2", "is saturated: it fires in 100.0% of all steps"),
    "NoSurrogate": ("wrong", "lif1", "spikes without a surrogate"),
    "no_zero_gradients": ("wrong", "lif1", "spikes without a surrogate"),
    "Cut": ("wrong", "fc1.weight, fc1.bias", "get no gradient although the module is called"),
    "Detached": ("wrong", "the model", "has no gradient by earlier steps"),
    "state_dropped": ("wrong", "lif1", "the state that it returns is not passed to its next call"),
    "BatchNorm": ("wrong", "lif2", "depend on other items of the batch"),
    "SoftmaxOverBatch": ("wrong", "the model", "depend on other items of the batch"),
    "OverTime": ("wrong", "lif2", "depend on later inputs"),
    "NotFinite": ("wrong", "fc1.weight", "have a gradient that holds NaN or infinity"),
    "Unused": ("to know", "fc3.weight, fc3.bias", "are never used in forward"),
    "Half": ("costly", "lif1", "turns bfloat16 into float32"),
    "Counts": ("wrong", "lif1", "turns float32 into int64"),
    "Random": ("to know", "the model", "draws random numbers in eval mode"),
    "Global": ("wrong", "the model", "gives other outputs when an equal call is repeated"),
    "Growing": ("costly", "records", "more after every call"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_complaint_is_named(examined, name):
    severity, module, words = NAMED[name]
    named = sentences(examined(COMPLAINTS, name), severity)
    assert any(each.startswith(module) and words in each for each in named), named


def test_a_batch_that_is_scanned_as_time_is_told_with_the_layout_that_fits(examined):
    answer = examined(COMPLAINTS, "BatchAsTime", "btf")
    (said,) = sentences(answer, "wrong")
    assert "depend on other items of the batch; not in the layout --axes tbf" in said


def test_the_same_neuron_without_a_fault_is_proved(examined):
    answer = examined(COMPLAINTS, "Net")
    assert sentences(answer, "wrong") == []
    assert {neuron["verdict"] for neuron in answer["neurons"]} == {"proved"}
    words = "soft, attached, decay 0.75, threshold 1, surrogate atan of slope 1"
    assert {neuron["equation"] for neuron in answer["neurons"]} == {words}


def test_three_faults_are_all_told(examined):
    answer = examined(COMPLAINTS, "Three")
    told = " ".join(f["sentence"] for f in answer["findings"])
    assert all(
        words in told for words in ("state from one call", "other items of the batch", "is silent")
    )
