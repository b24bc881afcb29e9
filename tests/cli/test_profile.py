"""`snnbench profile`: a step taken apart, in words, as JSON, and as a trace."""

import json
from types import SimpleNamespace

import pytest
from support.command_line import axes
from support.slow import without

from snnbench.core.case import Case
from snnbench.runner.profile import trace_file

SIZES = ["--workload", "mnist-mlp", *axes(neurons=31, image=9, time_steps=5, batch=3)]


@pytest.mark.parametrize("framework", without({"jax"}, ["torch", "jax"]))
def test_stages_kinds_and_a_trace(snnbench, framework):
    traces = snnbench.folder / "traces"
    ended = snnbench("profile", framework, "--out", str(traces), "--json", *SIZES)
    assert (ended.exit_code, ended.stderr) == (0, "")
    (one,) = json.loads(ended.stdout)
    breakdown = one["breakdown"]
    if framework == "torch":
        assert {"linear", "neuron", "loss", "optimizer"} <= breakdown["seconds"].keys()
    else:
        assert breakdown["bytes"]["planned together"] > 0
        assert "has no stages" in breakdown["unknown"]
    with open(one["trace"], encoding="utf-8") as file:
        assert len(json.load(file)["traceEvents"]) > 10


def test_the_trace_of_another_network_is_kept(tmp_path):
    cases = [Case("torch", neurons=neurons) for neurons in (31, 32)]
    first, second = (trace_file(SimpleNamespace(case=case), tmp_path) for case in cases)
    assert first != second and first.name.startswith("torch-default-eager-")


@pytest.mark.slow
def test_in_words(snnbench):
    ended = snnbench("profile", "torch", "snntorch-ipu", "--out", str(snnbench.folder), *SIZES)
    assert ended.exit_code == 0
    assert (
        "optimizer" in ended.stdout
        and "feature maps" in ended.stdout
        and "torch-default-eager-" in ended.stdout
    )
    assert "snntorch-ipu: " in ended.stdout, "what cannot be trained says why"


@pytest.mark.slow
def test_a_neuron_is_a_name_or_a_table(snnbench):
    table = '{ reset = "hard", decay = 0.5, current_decay = 0.25 }'
    ended = snnbench(
        "profile", "torch", "--neuron", table, "--out", str(snnbench.folder), "--json", *SIZES
    )
    (one,) = json.loads(ended.stdout)
    assert (
        one["status"],
        one["case"]["neuron"]["decay"],
        one["case"]["neuron"]["current_decay"],
    ) == ("ok", 0.5, 0.25)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            axes(loss="crossentropy"),
            "grid.loss = 'crossentropy': must be one of upstream, cross-entropy, spike-count, "
            "membrane",
        ),
        (axes(optimizer="rmsprop"), "grid.optimizer = 'rmsprop': must be one of plain, sgd, adam"),
        (("--neuron", "{ reset = "), "--neuron { reset = : is no table of a neuron's fields"),
        (
            ("--neuron", "{ decay = 2.0 }"),
            "--neuron { decay = 2.0 }: decay = 2.0 must be above 0 and at most 1",
        ),
        (("--timeout", "soon"), "--timeout soon: "),
        (axes(width=9), "--set grid.width=9: grid.width = 9: means nothing for mnist-mlp"),
        (axes(neurons=[5, 7]), "profile: 2 networks are named, and a trace is of one"),
    ],
)
def test_a_mistake_is_one_sentence(snnbench, option, said):
    ended = snnbench("profile", "torch", *SIZES, *option)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.message


def test_where_nothing_can_be_trained_nothing_is_told(snnbench):
    ended = snnbench(
        "profile",
        "torch",
        "--workload",
        "lif",
        *axes(loss="upstream", optimizer="sgd"),
        "--out",
        str(snnbench.folder),
    )
    assert ended.exit_code == 6
    assert "sgd moves parameters, and this network has none" in ended.stdout
