"""What an examination says of right models, and of complaints of users."""

import json
import sys

import numpy as np
import pytest
from support.paths import FAULTS
from support.slow import representatives, without

from snnbench.runner.examine import Look, neuron_in_words
from snnbench.worker.axes import Axes
from snnbench.worker.examine import examine

RIGHT, COMPLAINTS, STEPPED = (
    FAULTS / "models" / name for name in ("right.py", "complaints.py", "steps.py")
)
SHAPE = (17, 3, 11)


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """Returns a function that examines a model in this process, and returns the answer."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def of(file, name, axes="tbf", shape=SHAPE, **more):
        answer, events = tmp_path / "examined.json", []
        look = Look(shape, axes, quick=True, **more).as_job()
        job = {**look, "file": str(file), "name": name, "answer": str(answer)}
        examine(job, events.append)
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
    "SnnTorchRecurrent": (
        "tbf",
        ["soft-undecayed, detached, decay 0.9, threshold 1, surrogate atan of slope 1, recurrent"],
    ),
    "sinabs_recurrent": (
        "btf",
        [
            "soft, attached, decay 0.904837, threshold 1, surrogate exponential of slope 2, "
            "recurrent"
        ],
    ),
}


@pytest.mark.parametrize("name", representatives(TUTORIALS, {2}))
def test_a_right_model_has_no_fault_and_its_neurons_are_proved(examined, name):
    axes, equations = TUTORIALS[name]
    answer = examined(RIGHT, name, axes)
    assert sentences(answer, "wrong") == []
    assert [neuron["equation"] for neuron in answer["neurons"]] == equations
    assert [neuron["verdict"] for neuron in answer["neurons"]] == ["proved"] * len(equations)


@pytest.mark.slow
def test_a_reset_that_passes_over_a_recurrent_layer_is_told(examined):
    """Sinabs 3.1.3 resets no module that holds another."""
    answer = examined(RIGHT, "sinabs_recurrent_reset", "btf")
    (said,) = sentences(answer, "to know")
    assert "right only if 1.reset_states(), which sinabs.reset_states(net) does not call," in said


IMAGES = ("snntorch_convolution", "norse_convolution", "spikingjelly_convolution")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, axes, shape",
    [
        ("SnnTorchSynaptic", "tbf", SHAPE),
        ("spikingjelly_learned_decay", "tbf", SHAPE),
        *((name, "tbf", SHAPE) for name in ("norse_recurrent", "norse_recurrent_cell")),
        *(
            (name, "tbf", SHAPE)
            for name in ("SnnTorchLearned", "spikingjelly_loop", "Sparse", "ChangesInput")
        ),
        *((name, "tbf", SHAPE) for name in ("SnnTorchShared", "ByHand")),
        *((name, "tbf", (17, 3, 2, 9, 9)) for name in IMAGES),
        ("rockpool_synapses", "btf", SHAPE),
        ("sinabs_convolution", "btf", (17, 3, 2, 5, 7)),
    ],
)
def test_more_right_models_have_no_fault(examined, name, axes, shape):
    assert sentences(examined(RIGHT, name, axes, shape), "wrong") == []


@pytest.mark.slow
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
    "silent_and_not_reset": ("to know", "lif1, lif2", "keep their state from one call to the next"),
    "detached_jelly": ("wrong", "lif1, lif2", "find their state detached in every step"),
    "DetachedByHand": (
        "wrong",
        "the model",
        "although these change what fc2 gives in the last step",
    ),
    "TruncatedByHand": ("to know", "the model", "has gradients that reach back 4 steps at most"),
    "Asks": (
        "costly",
        "the model",
        "asks for values of tensors 17 times in 17 time steps (a number or a truth value in "
        "complaints.py:",
    ),
    "Silent": ("costly", "lif2", "is silent: none of its 5 neurons fires"),
    "BothSilent": ("costly", "lif1, lif2", "are silent: none of their 18 neurons fires in 17 st"),
    "Saturated": ("costly", "lif2", "is saturated: it fires in 100.0% of all steps"),
    "NoSurrogate": ("wrong", "lif1", "spikes without a surrogate"),
    "no_zero_gradients": ("wrong", "lif1", "spikes without a surrogate"),
    "Cut": ("wrong", "fc1.weight, fc1.bias", "get no gradient although the module is called"),
    "Detached": ("wrong", "the model", "has no gradient by earlier steps"),
    "state_dropped": ("wrong", "lif1, lif2", "the state that they return is not passed to their"),
    "SingleStep": ("wrong", "lif1", "is called once for all steps and takes them for one batch"),
    "BatchNorm": ("wrong", "lif2", "depend on other items of the batch"),
    "SoftmaxOverBatch": ("wrong", "the model", "depend on other items of the batch"),
    "OverTime": ("wrong", "lif2", "depend on later inputs"),
    "NotFinite": ("wrong", "fc1.weight", "have a gradient that holds NaN or infinity"),
    "Unused": ("to know", "fc3.weight, fc3.bias", "are never used in forward"),
    "Half": ("costly", "lif1", "turns bfloat16 into float32"),
    "Counts": ("wrong", "lif1", "turns float32 into int64"),
    "Random": ("to know", "the model", "draws random numbers in eval mode"),
    "Global": ("wrong", "the model", "gives other outputs when an equal call is repeated"),
    "PlainList": ("wrong", "layers", "holds Linear in a list or dict, which is no part of the mo"),
    "FixedSteps": ("wrong", "the model", "reads 10 of 17 time steps: later inputs change neither"),
    "CountsItems": ("wrong", "the model", "reads 3 of 17 time steps: later inputs change neither"),
    "MasksInputs": (
        "to know",
        "the model",
        "reads 12 of 17 time steps: later inputs change neither spikes nor outputs; right only",
    ),
    "Viewed": ("wrong", "", "depend on other items of the batch"),
    "Smoothed": ("wrong", "the model", "depend on later inputs"),
    "AlwaysDropped": ("to know", "the model", "wrong for a dropout that should be off"),
    "Wide": ("costly", "lif1", "turns float32 into float64"),
    "Growing": ("costly", "records", "more after every call"),
}
QUICK = {
    "NoSurrogate",
    "Detached",
    "OverTime",
    "Wide",
    "Global",
    "FixedSteps",
    "PlainList",
}
"""One of each part of the examination, but for the three that `Three` has."""


@pytest.mark.parametrize("name", without(NAMED.keys() - QUICK, NAMED))
def test_a_complaint_is_named(examined, name):
    severity, module, words = NAMED[name]
    named = sentences(examined(COMPLAINTS, name), severity)
    assert any(each.startswith(module) and words in each for each in named), named


def test_a_batch_that_is_scanned_as_time_is_told_with_the_layout_that_fits(examined):
    answer = examined(COMPLAINTS, "BatchAsTime", "btf")
    (said,) = sentences(answer, "wrong")
    assert said.endswith(
        "depend on other items of the batch: forward takes time as its first axis, which --axes "
        "btf calls the batch; examine it with --axes tbf, for an input (T, B, features)"
    )
    lines = [neuron_in_words(neuron) for neuron in answer["neurons"]]
    assert lines[0] == "lif1: Lif: not held against the oracle, because its axes are read wrongly"


def test_an_error_of_the_examination_is_no_fault_of_the_model(examined, monkeypatch):
    def fails(*arguments):
        return np.zeros(3)[np.ones(4, bool)]

    monkeypatch.setattr(Axes, "_outputs_of_items", fails)
    answer = examined(FAULTS / "models" / "hostile.py", "Returns")
    assert sentences(answer, "wrong") == []
    (said,) = [each for each in sentences(answer, "to know") if "could not be looked at" in each]
    assert said.startswith("the model could not be looked at in part 'inference': IndexError")


STEPS = {
    # step: (model, the only wrong finding, or none)
    "zeroed": ("net", "fc1.weight, fc1.bias, fc2.weight, fc2.bias are not changed by zeroed"),
    "train": ("net", ""),
    "resets": ("kept", ""),
    "half": ("net", "fc2.weight, fc2.bias are not changed by half: the optimizer does not have"),
    "detaches": ("kept", "detaches begins with the states that it left: the second of two equal"),
    "raises": ("net", "raises raises TypeError: raises() takes 2 positional arguments but 3 were"),
}


@pytest.mark.parametrize("name", without(STEPS.keys() - {"zeroed"}, STEPS))
def test_a_training_step_is_examined_as_it_is(examined, name):
    model, words = STEPS[name]
    step = (STEPPED, name)
    named = sentences(examined(STEPPED, model, classes=5, step=step), "wrong")
    of_states = [each for each in named if "state from one call" in each]
    assert len(named) == (1 if words else 0) + len(of_states)
    assert not words or named[-1].startswith(words), named
    assert bool(of_states) == (name == "detaches")


CUT = {
    # training step: its model, and what is told of states
    "truncated": ("kept", "in 4 of 17 steps (4, 8, 12, …): gradients reach"),
    "chunks": ("jelly", "between the calls of a training step"),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", CUT)
def test_truncated_backpropagation_of_a_step_is_no_fault(examined, step):
    model, words = CUT[step]
    answer = examined(STEPPED, model, classes=5, step=(STEPPED, step))
    assert sentences(answer, "wrong") == []
    told = f"lif1, lif2 find their state detached {words}"
    assert any(each.startswith(told) for each in sentences(answer, "to know"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TruncatedByHand", "MasksInputs"])
def test_truncated_backpropagation_and_masks_of_a_model_are_no_fault(examined, name):
    assert sentences(examined(COMPLAINTS, name), "wrong") == []


@pytest.mark.slow
def test_a_step_that_keeps_its_losses_is_told(examined):
    answer = examined(STEPPED, "net", classes=5, step=(STEPPED, "remembers"))
    (said,) = sentences(answer, "costly")
    assert said.startswith("remembers leaves ") and "more in use than the step before" in said


@pytest.mark.slow
def test_a_step_that_goes_through_the_graph_of_the_one_before_fails(examined):
    named = sentences(examined(STEPPED, "kept", classes=5, step=(STEPPED, "train")), "wrong")
    assert "in its second call, which goes through the graph of the first" in named[-1]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cross-entropy", "mse"])
def test_gradients_are_those_of_a_loss_of_classes(examined, loss):
    assert sentences(examined(STEPPED, "net", classes=5, loss=loss), "wrong") == []


def test_a_loss_without_its_classes_is_told_with_the_sizes(examined):
    with pytest.raises(AssertionError, match=r"no output has 20 classes .*, but \(17, 3, 5\)"):
        examined(STEPPED, "net", classes=20)


def test_the_input_of_a_file_is_looked_at(examined, tmp_path):
    """A layer that random zeros and ones make fire is silent on small numbers."""
    np.save(tmp_path / "x.npy", np.full((17, 3, 11), 0.01, np.float16))
    answer = examined(STEPPED, "quiet", input=tmp_path / "x.npy", shape=())
    assert any("lif1 is silent" in each for each in sentences(answer, "costly"))
    assert not any("is silent" in each for each in sentences(examined(STEPPED, "quiet"), "costly"))


def test_an_input_of_zeros_is_told_and_the_rest_is_looked_at(examined, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.int8))
    answer = examined(COMPLAINTS, "Net", input=tmp_path / "x.npy", shape=())
    (said,) = [f"{each['module']} {each['sentence']}" for each in answer["findings"]]
    assert said.startswith("the input is 0 everywhere")
    assert {neuron["verdict"] for neuron in answer["neurons"]} == {"proved"}


@pytest.mark.slow
def test_a_batch_that_is_scanned_as_time_is_seen_in_layers_before_a_quiet_one(examined):
    """The last layer fires by its bias alone; the first one shows which axis is scanned."""
    answer = examined(COMPLAINTS, "jelly_by_bias", "btf")
    assert any("examine it with --axes tbf" in each for each in sentences(answer, "wrong"))
    assert sentences(examined(COMPLAINTS, "jelly_by_bias", "tbf"), "wrong") == []


@pytest.mark.slow
def test_a_batch_that_is_scanned_as_time_is_seen_where_all_is_silent(examined, tmp_path):
    np.save(tmp_path / "x.npy", np.full((3, 17, 11), 1e-3, np.float32))
    answer = examined(COMPLAINTS, "jelly_by_bias", "btf", (), input=tmp_path / "x.npy")
    named = sentences(answer, "wrong")
    assert any("passes its state from item to item of the batch" in each for each in named), named
    assert answer["neurons"][0]["differs"].endswith("is --axes right?")


@pytest.mark.slow
def test_a_constant_input_hides_no_batch(examined, tmp_path):
    """Backwards it is itself: another input must differ."""
    np.save(tmp_path / "x.npy", np.full(SHAPE, 3, np.int8))
    answer = examined(COMPLAINTS, "SoftmaxOverBatch", input=tmp_path / "x.npy", shape=())
    assert any("other items of the batch" in each for each in sentences(answer, "wrong"))


JAX = {
    # model: words of its only finding of severity wrong, or none
    "net": "",
    "over_items": "the model gives outputs that depend on other items of the batch",
    "masked": "",
    "counts_items": "the model reads 3 of 17 time steps",
    "ahead": "the model gives outputs that depend on later inputs",
    "no_surrogate": "first gets no gradient although",
    "unused": "",
    "flax": "",
    "keeps": "the model keeps its state from one call to the next",
    "spyx": "",
    "haiku": "",
    "haiku_over_items": "the model gives outputs that depend on other items of the batch",
    "haiku_state": "the model keeps its state from one call to the next",
    "haiku_random": "",
}


@pytest.mark.parametrize("name", without(JAX.keys() - {"no_surrogate"}, JAX))
def test_a_jax_model_is_looked_at_from_outside(examined, name):
    answer = examined(FAULTS / "models" / "jax_models.py", name)
    named, words = sentences(answer, "wrong"), JAX[name]
    assert len(named) == bool(words) and all(each.startswith(words) for each in named), named
    if name == "unused":
        assert any(
            "third has a gradient of exactly" in each for each in sentences(answer, "costly")
        )
    if name == "masked":
        assert any("reads 12 of 17 time steps" in each for each in sentences(answer, "to know"))
    if name == "haiku_random":
        assert any("draws random numbers" in each for each in sentences(answer, "to know"))


@pytest.mark.slow
def test_a_model_whose_parameters_are_apart_is_told(examined):
    with pytest.raises(
        AssertionError, match=r"gives Linen without .*give a pair \(function, param"
    ):
        examined(FAULTS / "models" / "jax_models.py", "apart")


def test_three_faults_are_all_told(examined):
    answer = examined(COMPLAINTS, "Three")
    told = " ".join(f["sentence"] for f in answer["findings"])
    assert all(
        words in told for words in ("state from one call", "other items of the batch", "is silent")
    )
