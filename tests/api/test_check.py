"""`snnbench.check`: the proof of the command line, in Python."""

import json
import subprocess
import sys

import pytest
from support.command_line import TINY
from support.paths import FAULTY, WRONG
from support.slow import representatives

import snnbench as own
from snnbench.adapters.torch_loop import TorchLoop

sys.path.append(str(FAULTY))
from numpy_network import NumpyNetwork

NUMPY = f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"
SMALL = {"neurons": 31, "time_steps": 41, "batch": 3}
SCRIPT = f"""
import sys

sys.path.append({str(FAULTY)!r})
import snnbench
from numpy_network import NumpyNetwork

class Mine(NumpyNetwork):
    name = "mine"

{{guard}}print(repr(snnbench.check(Mine, neuron="soft", neurons=31, time_steps=41, batch=3)))
"""


@pytest.mark.slow
def test_it_says_what_the_command_line_says(snnbench):
    verdict = own.check(NUMPY, neuron=["soft", "hard-straight"], **SMALL)
    ended = snnbench(
        "check",
        "-a",
        NUMPY,
        "--neuron",
        "soft",
        "--neuron",
        "hard-straight",
        *TINY,
        "--json",
    )
    told = [(each["case"], each["status"], each["reason"]) for each in json.loads(ended.stdout)]
    assert told == [(one.case.as_dict(), one.status, one.reason) for one in verdict]
    assert verdict and len(verdict) == 2 and verdict.faults == {}
    assert repr(verdict).splitlines()[0] == "numpy soft fp32: same network"


def test_a_class_is_proved_by_its_file(snnbench):
    verdict = own.check(NumpyNetwork, neuron="soft", **SMALL)
    assert verdict and verdict.checked[0].case.framework == "numpy"


@pytest.mark.slow
def test_a_wrong_network_is_false_and_its_fault_is_named():
    verdict = own.check(f"{WRONG / 'time_axis.py'}:Late", neuron="soft", **SMALL)
    (sentence,) = verdict.faults.values()
    assert not verdict and "check_failed" in repr(verdict) and sentence in repr(verdict)


@pytest.mark.slow
def test_a_framework_that_is_not_installed_is_a_fault_if_it_is_named_and_nothing_proved_is_no_proof():
    missing = own.check(f"{FAULTY / 'raising.py'}:NotInstalled", neuron="soft", **SMALL)
    assert not missing and "not installed" in repr(missing)
    refused = own.check(NUMPY, neuron="hard-straight", **SMALL)
    assert not refused and refused.faults == {}


def test_a_notebook_shows_the_table_and_nothing_of_an_adapter_is_markup():
    page = own.check(NUMPY, neuron=["soft", "hard-straight"], **SMALL)._repr_html_()
    assert page.count("<tr>") == 3 and "same network" in page and "NumPy is offered here" in page


@pytest.mark.parametrize(
    "guard",
    representatives(["", "if __name__ == '__main__':\n    "], [0]),
    ids=["without a guard", "with a guard"],
)
def test_a_script_that_checks_its_own_class_ends(tmp_path, guard):
    (script := tmp_path / "mine.py").write_text(SCRIPT.format(guard=guard))
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=True
    )
    said = (
        "mine soft fp32: same network" if guard else "put that under `if __name__ == '__main__':`"
    )
    assert said in ended.stdout


def test_a_class_of_a_notebook_has_no_file_and_is_told_where_to_write_it():
    code = SCRIPT.format(guard="")
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    sentence = ended.stderr.splitlines()[-1]
    assert sentence.endswith(
        "write it to one, in a notebook with %%writefile mine.py, then check('mine.py:Mine')"
    )


class Outer:
    class Inner(TorchLoop):
        name = "inner"


@pytest.mark.parametrize(
    ("adapter", "axes", "sentence"),
    [
        ("torc", SMALL, "unknown framework 'torc'; did you mean 'torch'?"),
        ("torch:egaer", SMALL, "NAME = 'torch:egaer': torch has no 'egaer'; did you mean 'eager'?"),
        ("nowhere.py:Mine", {}, "--adapter = 'nowhere.py:Mine': there is no file"),
        (3, {}, "3: must be the name of a framework"),
        (Outer.Inner, {}, "Outer.Inner: is inside another class"),
        ("torch", {"neuron": "sofd"}, "check(neuron='sofd'): must be one of soft"),
        ("torch", {"precision": ["fp32", "fp8"]}, "check(precision='fp8'): must be one of fp32"),
        ("torch", {"neurons": 2.5}, "check(neurons=2.5): must be a whole number"),
        ("torch", {"width": 3}, "check(width=3): means nothing for linear-lif; leave it out"),
        ("torch", {"neurns": 3}, "check: grid.neurns: unknown key; did you mean 'neurons'?"),
        ("torch", {"device": "gpu"}, "check(device='gpu'): must be 'cpu', 'cuda' or 'cuda:0'"),
        ("torch", {"timeout": 3}, "check(timeout=3): must be a duration"),
        ("torch", {"framework": "norse"}, "check(framework='norse'): frameworks have no keyword"),
    ],
)
def test_a_mistake_is_one_sentence(adapter, axes, sentence):
    with pytest.raises(own.ConfigError) as caught:
        own.check(adapter, **axes)
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
