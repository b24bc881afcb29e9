"""`snnbench quick`: the answer for one network, from proof to the command for more certainty."""

import itertools
import json
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.paths import FAULTY

from snnbench.cli import quick as quick_module
from snnbench.common.mistakes import ConfigError
from snnbench.core.case import Case
from snnbench.experiment.config import load_config
from snnbench.experiment.setting import Option
from snnbench.experiment.values import parse_neuron
from snnbench.runner import execute, live_set, planning
from snnbench.runner import quick as runner_quick
from snnbench.runner.budget import LEAST_PASSES, Budget
from snnbench.runner.planning import quick_name, quick_plan

SLOW = """
import time
import sys
sys.path.append({faulty!r})
from numpy_network import NumpyNetwork, NumpyProgram


class Sleeping(NumpyProgram):
    def step(self, x, upstream):
        time.sleep(0.1)
        return super().step(x, upstream)


class Slow(NumpyNetwork):
    name = "slow"
    program_class = Sleeping
"""
SIZES = ["--neurons", 97, "--time-steps", 37, "--batch", 3, "--device", "cpu"]
NUMPY = ["--adapter", f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"]


@pytest.fixture(scope="module")
def quick(snnbench_module):
    """A run beside a slow framework, on a machine on which nothing disturbs."""
    (snnbench_module.folder / "slow.py").write_text(SLOW.format(faulty=str(FAULTY)))
    patch = pytest.MonkeyPatch()
    patch.setattr(planning, "QUICK", planning.QUICK | {"slot": "5ms"})
    patch.setattr(live_set, "disturbance", lambda *facts: None)
    patch.setattr(
        live_set, "other_endings", lambda endings: None
    )  # which believes what is said of disturbances
    given = [*NUMPY, "--adapter", "slow.py:Slow"]
    first = snnbench_module("quick", "numpy", "slow", *SIZES, *given, "--out", "out")
    assert first.exit_code == 0, first.stdout + first.stderr
    yield snnbench_module, first
    patch.undo()


def test_it_names_the_fastest_the_memory_and_how_sure_that_is(quick):
    _, first = quick
    sentences = first.stdout.split("results.csv\n")[1].splitlines()
    assert sentences[0].startswith("The fastest is numpy: ") and "of memory" in sentences[0]
    assert re.fullmatch(
        r"In order: numpy; slow \(\S+ times, surely 2\.0 or more\)\..*", sentences[1]
    )
    assert "Both were proved to compute the same network." in sentences[2]
    assert any(
        line.startswith("How sure: slow was stopped in the first block, where most passes ")
        for line in sentences
    )
    assert sentences[-1].startswith(
        "For narrower intervals, also on a machine that is less busy: snnbench quick numpy slow "
    )


def test_a_slow_framework_is_proved_leaves_after_the_first_pass_and_has_that_bound(quick):
    _, first = quick
    slow, fast = (
        [one for one in first.records if one["case"]["framework"] == name]
        for name in ("slow", "numpy")
    )
    assert len(slow) == 1 and len(fast) == 2, "it is in no further block"
    step = slow[0]["parts"]["step"]["timing"]
    assert slow[0]["proof"]["passed"] and step["beyond"] == 2.0 and len(step["slots"]) == 1
    assert "recheck" in slow[0]["parts"], "its timed calls are judged all the same"
    stayed = [one["parts"]["step"]["timing"] for one in fast]
    assert all(len(one["slots"]) >= LEAST_PASSES and "beyond" not in one for one in stayed)
    row = next(row for row in first.rows if row["framework"] == "slow")
    assert (row["rank_low"], row["rank_high"], row["ratio_low"], row["ratio_high"]) == (
        "2",
        "2",
        "2.0",
        "",
    )


@pytest.mark.parametrize(("threads", "expected"), [(None, 1), (0, 0), (2, 2)])
def test_a_framework_has_one_core_unless_threads_says_otherwise(
    quick, monkeypatch, threads, expected
):
    monkeypatch.setattr(planning, "usable_cores", lambda: [0, 1])
    _, first = quick
    assert {record["measure"]["threads"] for record in first.records} == {1}
    settings = [Option("grid.device", ["cpu"], "--device")]
    settings += [Option("measure.threads", threads, "--threads")] * (threads is not None)
    plan = quick_plan(settings, [f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"], 2)
    assert plan.experiment.measure.threads == expected


@pytest.mark.slow
def test_the_command_for_more_certainty_goes_on_from_there(quick):
    snnbench, first = quick
    words = shlex.split(first.stdout.splitlines()[-1].rpartition("busy: ")[2])
    assert words[:2] == ["snnbench", "quick"] and "--blocks" in words
    words[words.index("--blocks") + 1] = "3"
    again = snnbench(*words[1:])
    assert again.exit_code == 0 and again.stderr.count("kept, ok") == 3, again.stderr
    assert len(again.records) == 4, "one more block of those that are left"


def test_one_json_document_has_the_answer(quick):
    snnbench, _ = quick
    ended = snnbench(
        "quick",
        "numpy",
        "slow",
        *SIZES,
        *NUMPY,
        "--adapter",
        "slow.py:Slow",
        "--out",
        "out",
        "--json",
    )
    document = json.loads(ended.stdout)
    assert ended.exit_code == 0 and document["answer"][0].startswith("The fastest is numpy")
    assert {row["framework"] for row in document["rows"]} == {"numpy", "slow"}
    assert document["verdict"]["order"] == [["numpy"], ["slow"]] and document["not_measured"] == []
    assert document["verdict"]["surely_slower"] == {"numpy": ["slow"], "slow": []}


@pytest.mark.parametrize(
    ("axes", "asked"),
    [
        ({}, True),
        ({"workload": "recurrent-lif"}, True),
        ({"workload": "spikformer-block"}, True),
        ({"workload": "mnist-mlp"}, False),
        ({"workload": "mnist-mlp", "input_grad": True}, True),
        ({"input_grad": False}, False),
    ],
)
def test_a_step_has_the_gradient_of_its_input_in_a_layer_and_not_in_a_network(
    monkeypatch, axes, asked
):
    planned = []

    def load_plan(config, settings, *_):
        planned.extend(load_config(config, settings).grid.input_grad)
        raise ConfigError("enough")

    monkeypatch.setattr(planning, "load_plan", load_plan)
    settings = [Option(f"grid.{axis}", [value], axis) for axis, value in axes.items()]
    with pytest.raises(ConfigError, match="enough"):
        quick_plan(settings, [], 2)
    assert planned == [asked]


def test_a_folder_is_named_for_the_network():
    settings = [
        Option("grid.neurons", [97], "--neurons"),
        Option("grid.neuron", [{"decay": 0.5}], "--neuron"),
    ]
    settings.append(Option("grid.device", ["cpu"], "--device"))
    name = (
        quick_plan(settings, [f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"], 2)
        .folder(None)
        .path.name
    )
    assert (
        name.startswith("quick-soft-")
        and name.endswith("-N97-T50-B16-L1-fp32-cpu")
        and len(name.split()) == 1
    )


def test_a_long_neuron_cuts_no_other_part_of_the_name():
    leaky = parse_neuron("snntorch.Leaky(beta=0.95)")
    widths = {"workload": "mlp", "layers": 3, "inputs": 700, "outputs": 20}
    cases = [
        Case("torch", neuron=neuron, **widths) for neuron in (leaky, replace(leaky, decay=0.9))
    ]
    first, second = (quick_name(case, "inference") for case in cases)
    assert re.fullmatch(
        r"quick-inference-[0-9a-f]{6}-mlp-N256-T50-B16-L3-in700-out20-fp32-cpu", first
    )
    assert (
        first != second and quick_name(Case("jax"), "step") == "quick-soft-N256-T50-B16-L1-fp32-cpu"
    )


@pytest.mark.parametrize(
    ("options", "widths"),
    [
        (["--inputs", 61], (3, 61, 31, 20)),
        (["--inputs", 61, "--outputs", 7, "--layers", 2], (2, 61, 31, 7)),
        (["--workload", "mlp", "--set", "grid.inputs=[13]"], (3, 13, 31, 20)),
    ],
)
def test_layers_have_the_widths_that_are_asked_for(snnbench, monkeypatch, options, widths):
    """No run: the plan is what the options decide."""
    plans = []
    plan = quick_module.quick_plan

    def planned(*given):
        plans.append(plan(*given))
        raise ConfigError("enough")

    monkeypatch.setattr(quick_module, "quick_plan", planned)
    assert snnbench("quick", "numpy", *NUMPY, "--neurons", 31, *options).exit_code == 2
    (case,) = [planned.case for planned in plans[0].cases]
    assert not case.input_grad, "the data need none"
    assert (case.layers, case.inputs, case.neurons, case.outputs) == widths
    name = plans[0].experiment.name
    assert name.startswith("quick-soft-mlp-N31-T50-B16-L") and f"-in{case.inputs}-" in name


def test_a_network_is_measured_by_its_workload(snnbench, monkeypatch):
    monkeypatch.setattr(planning, "QUICK", planning.QUICK | {"slot": "5ms"})
    sizes = ["--inputs", 61, "--outputs", 7, "--neurons", 31, "--time-steps", 37, "--batch", 3]
    ended = snnbench(
        "quick", "numpy", *NUMPY, *sizes, "--device", "cpu", "--blocks", 1, "--out", "out"
    )
    assert ended.exit_code == 0, ended.stderr
    assert (
        "mlp · cpu · fp32 · 3 layers · 61 inputs · N = 31 · 7 outputs · T = 37 · B = 3"
        in " ".join(ended.stdout.split())
    )
    assert ended.rows[0]["inputs"] == "61" and ended.rows[0]["outputs"] == "7"
    command = ended.stdout.splitlines()[-1]
    assert " --layers 3 --inputs 61 --outputs 7 " in command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["a b"], "argument a b: must look like"),
        (["torc"], "argument torc: unknown framework; did you mean 'torch'?"),
        (["torch", "--precision", "fp23"], "--precision fp23: must be one of"),
        (
            ["torch", "--neuron", "97"],
            "--neuron 97: must be one of soft, hard, none, soft-undecayed, hard-straight, native, "
            "a framework's neuron such as snntorch.Leaky(beta=0.95), or a table of a neuron's fields; did you mean neurons = 97?",
        ),
        (["torch", "--neuron", "sofd"], "--neuron sofd: must be one of"),
        (["torch", "--workload", "mlq"], "--workload mlq: must be one of linear-lif, lif, "),
        (
            ["torch", "--workload", "conv-lif", "--inputs", "7"],
            "--inputs 7: means nothing for conv-lif; leave it out",
        ),
        (["torch", "--set", "grid.framework=jax"], "--set grid.framework=jax: frameworks are"),
        (
            ["torch", "--set", "grid.neurons=[1, 2]"],
            "--set grid.neurons=[1, 2]: grid.neurons = [1, 2]: must be one value; snnbench run",
        ),
        (["torch", "--device", "gpu"], "--device gpu: must be 'cpu', 'cuda' or 'cuda:0'"),
        (
            ["torch", "--workload", "network"],
            "config: grid.workload: 'network' needs a config with a table [network], which",
        ),
        (["torch", "--threads", 4096], "--threads 4096: more than the "),
        (["torch", "--neurons", 0], "Invalid value for '--neurons': must be at least 1 ("),
        (["torch", "--threads", "x"], "Invalid value for '--threads': "),
        (["snntorch-ipu"], "no planned case can run here: snntorch-ipu: "),
    ],
)
def test_a_mistake_is_one_sentence(snnbench, options, sentence):
    ended = snnbench("quick", *options)
    assert (ended.exit_code, ended.stdout) == (2, "") and ended.message.startswith(
        f"snnbench: {sentence}"
    )


def test_in_its_bundle_no_case_that_left_lacks_a_block(quick):
    snnbench, _ = quick
    assert snnbench("bundle", "out", "--out", "quick.bundle.jsonl").exit_code == 0
    ended = snnbench("verify", "quick.bundle.jsonl", "--json")
    assert "blocks" not in {
        fault["kind"] for fault in json.loads(ended.stdout)["bundles"][0]["faults"]
    }, ended.stdout


def test_other_cases_in_the_folder_are_not_told(quick):
    snnbench, _ = quick
    ended = snnbench("quick", "numpy", *SIZES, *NUMPY, "--out", "out", "--json")
    document = json.loads(ended.stdout)
    assert ended.exit_code == 0 and [row["framework"] for row in document["rows"]] == ["numpy"]
    assert (document["rows"][0]["rank_low"], document["rows"][0]["rank_high"]) == (1, 1)
    assert (
        '"slow"' not in ended.stdout
        and "How sure: there is no other case to compare it with." in document["answer"]
    )
    assert {row["framework"] for row in ended.rows} == {"numpy", "slow"}, "the folder keeps them"


def test_interrupted_it_says_only_that_the_same_command_goes_on(quick, monkeypatch):
    snnbench, _ = quick
    run = quick_module.execute_shown
    monkeypatch.setattr(quick_module, "execute_shown", lambda *given: run(*given) or True)
    ended = snnbench(
        "quick", "numpy", "slow", *SIZES, *NUMPY, "--adapter", "slow.py:Slow", "--out", "out"
    )
    assert ended.exit_code == 130 and "--blocks" not in ended.stdout
    assert ended.stderr.splitlines()[-1].endswith("the same command goes on from there")


@pytest.mark.slow
def test_a_framework_out_of_time_is_named_and_gets_another_chance_by_timeout_or_fresh(snnbench):
    given = ["held", *SIZES, "--adapter", FAULTY / "held.py:Held", "--out", "out"]
    (snnbench.notes / "hold-97").touch()
    late = snnbench("quick", *given, "--timeout", "0.5s")
    assert late.exit_code == 6 and [one["status"] for one in late.records] == ["timeout"], (
        late.stderr
    )
    missing, command = late.stdout.splitlines()[-2:]
    assert missing.startswith("Missing: held (timeout: ") and "at a load of " in missing
    assert command.startswith("To give held more time: snnbench quick held ") and command.endswith(
        " --timeout 1s"
    )
    again = snnbench("quick", *given, "--timeout", "0.5s", "--fresh")
    assert again.records[0]["attempt"] == 2 and "kept" not in again.stderr
    (snnbench.notes / "hold-97").unlink()
    ended = snnbench("quick", *given, "--timeout", "60s", "--blocks", 1)
    assert "measured again: timeout 500 ms → 60 s (1 case)" in ended.stderr
    assert ended.exit_code == 0 and [row["status"] for row in ended.rows] == ["ok"], ended.stderr
    assert ended.stdout.splitlines()[-1].endswith(" --timeout 60s")


def test_within_a_budget_it_measures_some_and_says_what_it_left_out(snnbench, monkeypatch):
    """The clock goes on by ten seconds whenever it is read."""
    clock = itertools.count(step=10.0).__next__
    monkeypatch.setattr(runner_quick, "Budget", partial(Budget, clock=clock))
    monkeypatch.setattr(runner_quick, "load_average", lambda: 0.0)
    monkeypatch.setattr(planning, "QUICK", planning.QUICK | {"slot": "5ms"})
    (snnbench.folder / "slow.py").write_text(SLOW.format(faulty=str(FAULTY)))
    given = ["numpy", "slow", *SIZES, *NUMPY, "--adapter", "slow.py:Slow", "--out", "out"]
    ended = snnbench("quick", *given, "--within", "100s")
    assert ended.exit_code == 0 and len({each["case_id"] for each in ended.records}) == 1
    measured = ended.records[0]["case"]["framework"]
    (left_out,) = {"numpy", "slow"} - {measured}
    assert f"Left out for lack of time (100s): {left_out}." in ended.stdout
    more, narrower = ended.stdout.splitlines()[-2:]
    assert more.startswith(f"To give {left_out} more time: snnbench quick numpy slow ")
    assert more.endswith(" --within 200s") and narrower.endswith(" --within 100s")
    assert snnbench("quick", *given, "--within", "5").message.startswith(
        "snnbench: --within 5: must be a duration such as"
    )


@pytest.mark.parametrize(
    ("rows", "timeout", "within", "more"),
    [
        (["late"], "3m", "", "--timeout 6m"),
        (["late"], "", "", "--timeout 4m"),
        (["late"], "0.5s", "90s", "--timeout 1s --within 180s"),
        ([], "", "2s", "--within 1m"),
        ([], "", "1.5m", "--within 3m"),
    ],
)
def test_more_time_is_twice_that_in_the_same_unit_and_some_hope(rows, timeout, within, more):
    late = [SimpleNamespace(case=Case(name), status="timeout", standing=None) for name in rows]
    left_out = [] if rows else ["torch"]
    (told,) = quick_module._what_next(late, left_out, ["torch"], 2, timeout, within)
    named = "late" if rows else "torch"
    assert told == f"To give {named} more time: snnbench quick torch {more}"


@pytest.mark.parametrize("load", [0.0, 99.0])
def test_on_a_busy_machine_it_says_first_that_times_will_be_doubtful(quick, monkeypatch, load):
    snnbench, _ = quick
    monkeypatch.setattr(execute, "load_average", lambda: load)
    monkeypatch.setattr(quick_module, "nearest_in_words", lambda *_: ["nearer neurons"])
    ended = snnbench("quick", "numpy", *SIZES, *NUMPY, "--out", "out")
    hint, *lines = ended.stderr.splitlines()
    busy = [line for line in lines if line.startswith("this machine is busy: a load of 99.0 on ")]
    assert len(busy) == (load == 99.0) and lines[: len(busy)] == busy
    assert hint == "snnbench: nearer neurons" and hint[10:] not in ended.stdout, "told once"


def test_inference_is_timed_in_place_of_steps(snnbench, monkeypatch):
    monkeypatch.setattr(planning, "QUICK", planning.QUICK | {"slot": "5ms"})
    arguments = ["quick", "numpy", *NUMPY, *SIZES, "--inference", "--blocks", 1, "--json"]
    ended = snnbench(*arguments)
    assert ended.exit_code == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["verdict"]["timed"] == "inference" and "at inference" in found["answer"][0]
    (row,) = found["rows"]
    assert row["ranked_by"] == "inference" and row["inference_s"] and row["step_s"] is None
    assert Path(found["folder"]).name.startswith("quick-inference-soft-")
    (again,) = [text for text in found["answer"] if "snnbench quick" in text]
    assert "--inference" in shlex.split(again)
