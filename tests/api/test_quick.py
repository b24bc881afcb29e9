"""`snnbench.quick`: the answer of the command line, in Python."""

import json

import pytest
from support.paths import FAULTY

import snnbench as own
from snnbench.api import answering
from snnbench.runner import planning

NUMPY = f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"
SIZES = {"neurons": 31, "time_steps": 37, "batch": 3, "device": "cpu"}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "QUICK", planning.QUICK | {"slot": "5ms"})
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_it_says_what_the_command_line_says(snnbench):
    answer = own.quick("numpy", NUMPY, **SIZES)
    ended = snnbench(
        *("quick", "numpy", "--neurons", 31, "--time-steps", 37, "--batch", 3, "--device", "cpu"),
        *("--adapter", NUMPY, "--json"),
    )
    document = json.loads(ended.stdout)
    assert answer.sentences == document["answer"][: len(answer.sentences)]
    assert answer.verdict == document["verdict"] and answer.not_measured == []
    assert repr(answer).startswith("The fastest is numpy") and len(answer) == 1
    assert f"<p>{answer.sentences[0]}</p>" in answer._repr_html_() and "<table>" in repr(
        answer._repr_html_()
    )


def test_inference_is_timed_in_place_of_steps(monkeypatch):
    plans = []
    monkeypatch.setattr(answering, "execute_shown", lambda plan, *_: bool(plans.append(plan)) or 1)
    for inference in (True, False):
        with pytest.raises(KeyboardInterrupt):
            own.quick("numpy", NUMPY, **SIZES, inference=inference)
    phases = [plan.experiment.measure.phases for plan in plans]
    assert phases == [["inference"], ["step"]]
    assert plans[0].experiment.name.startswith("quick-inference-")


@pytest.mark.parametrize(
    ("axes", "widths"),
    [
        ({}, (None, 1, 31, None)),
        ({"inputs": 61}, ("mlp", 3, 31, 20)),
        ({"inputs": 61, "outputs": 7, "layers": 2}, ("mlp", 2, 31, 7)),
        ({"workload": "mlp"}, ("mlp", 3, 31, 20)),
        ({"workload": "mnist-mlp"}, ("mnist-mlp", None, 31, None)),
    ],
)
def test_the_network_is_that_of_the_command_line(monkeypatch, axes, widths):
    plans = []

    def executed(plan, *_):
        plans.append(plan)
        return True

    monkeypatch.setattr(answering, "execute_shown", executed)
    with pytest.raises(KeyboardInterrupt, match="the same call goes on from there"):
        own.quick("numpy", NUMPY, **SIZES | axes)
    (case,) = [planned.case for planned in plans[0].cases]
    workload = None if case.workload == "linear-lif" else case.workload
    assert (workload, case.layers, case.neurons, case.outputs) == widths


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: own.quick(neurons=[3, 4]), "quick(neurons=[3, 4]): must be one value; snnbench"),
        (lambda: own.quick(neurons=0), "quick(neurons=0): must be above 0"),
        (lambda: own.quick(neuron="sofd"), "quick(neuron='sofd'): must be one of soft"),
        (lambda: own.quick(framework="x"), "quick(framework='x'): frameworks have no keyword"),
        (lambda: own.quick(passes=3), "quick(passes=3): passes belongs to measure: run("),
        (lambda: own.quick(within="x"), "quick(within='x'): must be a duration"),
        (lambda: own.quick(timeout="x"), "quick(timeout='x'): must be a duration"),
        (lambda: own.quick("numpi", NUMPY), "quick(framework='numpi'): unknown framework; did"),
    ],
)
def test_a_mistake_is_one_sentence(call, sentence):
    with pytest.raises(own.ConfigError) as caught:
        call()
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
