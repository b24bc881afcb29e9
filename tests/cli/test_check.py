"""`snnbench check`: the proof alone, as a table or one JSON document, for built-in adapters and
given files."""

import json

import pytest
from support.command_line import TINY
from support.paths import FAULTY

from snnbench.runner.check import FIGURES, Checker

NUMPY = f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"


def test_check_of_any_adapter_is_one_json_document_of_every_neuron(snnbench):
    ended = snnbench("check", "--adapter", NUMPY, "--json", *TINY)
    assert (ended.exit_code, ended.stderr) == (0, ""), ended.stdout
    results = {result["case"]["neuron"]["reset"]: result for result in json.loads(ended.stdout)}
    proved, refused = ("soft", "hard", "none"), ("soft-undecayed", "hard-straight")
    assert {reset: result["status"] for reset, result in results.items()} == dict.fromkeys(
        proved, "ok"
    ) | dict.fromkeys(refused, "unsupported")
    assert all(results[reset]["reason"] for reset in refused)
    assert results["soft"]["case"]["framework"] == "numpy"
    assert results["soft"]["proof"]["passed"] is True
    own_size = results["soft"]["proof"]["stages"][-1]
    assert (own_size["name"], own_size["neurons"]) == ("own size, fp32", 31)
    assert 0 <= own_size["grad_error"] <= 1e-5


def test_a_variant_that_does_not_run_here_and_one_that_does_not_exist(snnbench):
    ended = snnbench("check", "torch:graph", "--neuron", "soft", *TINY)
    assert ended.exit_code == 6
    assert "CUDA graph" in ended.stdout
    ended = snnbench("check", "torch:stepwise+compiled", "--neuron", "soft", *TINY)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "torch has no 'compiled'" in ended.message
    assert "did you mean 'compile'" in ended.message


def test_a_wrong_adapter_ends_with_4_and_its_fault_is_named_beside_a_right_variant(snnbench):
    """tests/proof/test_wrong_adapters.py holds many against the proof."""
    named = ["torch:stepwise", "--adapter", f"{FAULTY / 'subtracting.py'}:Subtracting"]
    ended = snnbench("check", *named, "--neuron", "hard", "--json", *TINY)
    assert ended.exit_code == 4
    right, wrong = json.loads(ended.stdout)
    assert (right["status"], wrong["status"]) == ("ok", "check_failed")
    assert "resets like `soft`, not `hard`" in wrong["reason"]
    case = right["case"]
    assert (case["framework"], case["construction"], case["mode"]) == ("torch", "stepwise", "eager")


def test_a_reset_with_another_gradient_is_told_with_the_neuron_that_has_it(snnbench):
    named = [
        f"--adapter={FAULTY / 'subtracting.py'}:{name}" for name in ("Attached", "Subtracting")
    ]
    ended = snnbench("check", *named, "--neuron", "hard", "--json", *TINY)
    attached, subtracting = (result["reason"] for result in json.loads(ended.stdout))
    assert 'if that is meant, it is another neuron: --neuron \'{ reset = "hard"' in attached
    assert "resets like" in subtracting and "if that is meant" not in subtracting


def test_a_framework_that_is_not_installed_ends_with_3(snnbench):
    options = ["--adapter", f"{FAULTY / 'raising.py'}:NotInstalled", "--neuron", "soft"]
    assert snnbench("check", *options).exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["mine.py:Mine"],
            ["unknown framework 'mine.py'; an adapter's file is named by --adapter"],
        ),
        (["net.nir"], ["unknown framework 'net.nir'; a NIR file is the network of a config"]),
        (["torc"], ["unknown framework 'torc'", "did you mean 'torch'"]),
        (["torch", "--neuron", "norse LIF()"], ["--neuron norse LIF()", "mean 'norse.LIF()'?"]),
        (["torch", "--neuron", "sofd"], ["--neuron", "sofd", "did you mean 'soft'"]),
        (["torch", "--precision", "fp23"], ["--precision fp23", "fp32, tf32, bf16"]),
        (["torch", "--workload", "lfi"], ["--workload lfi", "linear-lif, lif"]),
        (
            ["torch", "--workload", "lif", "--set", "grid.layers=3"],
            ["--set grid.layers=3: grid.layers = 3: means nothing for lif; leave it out"],
        ),
        (
            ["torch", "--set", "grid.norm=false"],
            ["--set grid.norm=false: grid.norm = False: means nothing for linear-lif"],
        ),
        (["torch", "--set", "grid.input=spike"], ["grid.input = 'spike'", "spikes, dense"]),
        (["torch", "--set", "grid.neuronss=3"], ["unknown key", "did you mean 'neurons'"]),
        (
            ["torch", "--set", "measure.blocks=3"],
            ["--set measure.blocks=3: must be an axis of the grid, such as grid.neurons=64"],
        ),
        (
            ["--set", "grid.framework=torch"],
            ["--set grid.framework=torch: frameworks are arguments; put their names first"],
        ),
        (["torch", "--device", "gpu"], ["--device gpu", "'cpu', 'cuda' or 'cuda:0'"]),
        (
            ["torch", "--set", "grid.time_steps=99999999"],
            ["grid.time_steps = 99999999: must be at most 16777216"],
        ),
        (
            ["torch", "--precision", "fp32", "--precision", "fp8"],
            ["--precision fp8: must be one of"],
        ),
        (["--adapter", "nowhere.py:Mine"], ["--adapter = 'nowhere.py:Mine'", "there is no file"]),
    ],
)
def test_a_mistake_names_the_option_the_value_and_what_would_be_right(snnbench, arguments, words):
    ended = snnbench("check", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert [word for word in words if word not in ended.message] == [], ended.message


@pytest.mark.parametrize("size", ["neurons=0", "batch=-3", "layers=two"])
def test_an_impossible_size_ends_with_2(snnbench, size):
    ended = snnbench("check", "torch", "--set", f"grid.{size}")
    assert ended.exit_code == 2
    assert f"--set grid.{size}: grid." in ended.message


def test_an_unknown_option_ends_with_2(snnbench):
    ended = snnbench("check", "torch", "--no-such-option")
    assert ended.exit_code == 2
    assert "--no-such-option" in ended.stderr and "Traceback" not in ended.stderr


def test_interrupted_it_shows_what_is_proved_and_ends_with_130(snnbench, monkeypatch):
    def interrupted_at_the_second(checker, planned, own=Checker.prove):
        if planned.case.neuron.reset != "soft":
            raise KeyboardInterrupt
        return own(checker, planned)

    monkeypatch.setattr(Checker, "prove", interrupted_at_the_second)
    command = ("check", "--adapter", NUMPY, "--neuron", "hard", *TINY)
    ended = snnbench(*command, "--set", 'grid.neuron=["soft", "hard"]')
    assert ended.exit_code == 130 and "interrupted after 1 of 2 proofs" in ended.stderr, (
        "an axis that is set replaces its option"
    )
    assert "same network" in ended.stdout


def test_a_neuron_goes_by_its_framework_s_name_and_its_equation_is_printed(snnbench):
    neuron = "snntorch.Leaky(beta=0.9, spike_grad=fast_sigmoid(slope=1), reset_mechanism='zero')"
    line = f"{neuron}: hard, detached, decay 0.9, fast_sigmoid(slope=1)\n"
    ended = snnbench("check", "--adapter", NUMPY, "--neuron", neuron, *TINY, "--json")
    (result,) = json.loads(ended.stdout)
    assert (ended.exit_code, result["status"], result["case"]["neuron"]["decay"]) == (0, "ok", 0.9)
    assert ended.stderr == line
    setting = f'grid.neuron=["{neuron}"]'
    config = snnbench.config(["numpy"], [NUMPY])
    ended = snnbench("plan", "--config", config, "--set", setting)
    assert (ended.exit_code, ended.stderr.startswith(line)) == (0, True), ended.stderr
    assert "hard(decay=0.9)" in ended.stdout


def test_where_no_neuron_is_supported_the_table_is_narrow_and_another_is_to_be_named(snnbench):
    command = ("check", "--adapter", NUMPY, "--precision", "bf16", *TINY)
    ended = snnbench(*command)
    assert ended.exit_code == 6
    assert "name it, for example --neuron '{ reset = " in ended.stderr
    assert ended.stdout.count("unsupported") == 5 and ended.stdout.count("NumPy is offered") == 1
    assert not any(figure in ended.stdout for figure in FIGURES)
    assert "name it" not in snnbench(*command, "--neuron", "soft").stderr
