"""`snnbench examine` as a command: sentences, JSON, exit codes, and models that do harm."""

import json
import re
from functools import partial

import psutil
import pytest
from support.paths import FAULTS, ROOT
from support.slow import without

from snnbench.executors.launch import Surroundings
from snnbench.runner.examine import Look, examine_model

MODELS = FAULTS / "models"
INPUT, LONGER = ("--input", "17,3,11"), ("--input", "37,3,11")


OVER_TIME = ["Spikes per neuron and step", "Gradient by the spikes of a step"]
BY_MODULE = ["Time of a training step", "Memory kept for backward"]


def test_a_right_model_in_sentences(snnbench):
    net = f"{MODELS / 'complaints.py'}:Net"
    ended = snnbench("examine", net, *INPUT, "--quick", "--html", "page.html")
    assert (ended.exit_code, ended.stderr) == (0, ""), ended.stdout
    first, *_, last = ended.stdout.splitlines()
    assert first == (
        "lif1: Lif: soft, attached, decay 0.75, threshold 1, surrogate atan of slope 1: proved"
    )
    assert last == "no finding: nothing wrong, costly or to know was seen"
    page = (snnbench.folder / "page.html").read_text()
    assert re.findall("<figcaption>(.*?)</", page) == OVER_TIME
    assert page.count("data:image/svg+xml;base64,") == 4
    assert not re.search(r"https?:|<script", page)
    assert page.count("soft, attached, decay 0.75") == 2 and "Nothing wrong, costly" in page
    assert "<b>soft</b>: a spike subtracts the threshold" in page and "<b>hard</b>" not in page


@pytest.mark.slow
def test_what_would_help_is_measured_and_written(snnbench):
    """The written lines make a model that `same` calls the same."""
    net = f"{MODELS / 'complaints.py'}:Net"
    ended = snnbench("examine", net, *LONGER, "--write", "swapped.py", "--html", "x.html")
    page = (snnbench.folder / "x.html").read_text()
    assert re.findall("<figcaption>(.*?)</", page) == OVER_TIME + BY_MODULE
    assert re.search(
        r"^time of a training step: \d+\.\d% [\w ]+, .*; .* kept for backward: \d",
        ended.stdout,
        re.MULTILINE,
    ), ended.stdout
    assert (ended.exit_code, ended.stderr) == (0, ""), ended.stdout
    last = ended.stdout.splitlines()[-1]
    assert re.match(
        r"fused neurons for lif1, lif2: same spikes and gradients; a training step is (\d+(\.\d+)? "
        r"times as (fast|slow)|not clearly faster or slower) \(\d+(\.\d+)? to \d+(\.\d+)? in [3-7] rounds: "
        r".*s → .*s\), its tensors take \d\.\d\d times the memory \(.* → .*\)$",
        last,
    ), last
    (snnbench.folder / "new.py").write_text(
        "import importlib.util\nimport swapped\n"
        f"spec = importlib.util.spec_from_file_location('old', {str(MODELS / 'complaints.py')!r})\n"
        "old = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(old)\n"
        "def net():\n    return swapped.swap(old.Net())\n"
    )
    assert snnbench("same", net, "new.py:net", *INPUT).exit_code == 0


@pytest.mark.slow
def test_nothing_is_written_that_would_not_help(snnbench):
    silent = f"{MODELS / 'hostile.py'}:Returns"
    ended = snnbench("examine", silent, *INPUT, "--write", "swapped.py")
    assert ended.exit_code == 6 and not (snnbench.folder / "swapped.py").exists()
    assert ended.message.endswith(
        "swapped.py: not written: no fused neurons keep the model the same"
    )


def test_faults_are_one_json_document_and_exit_code_4(snnbench):
    ended = snnbench("examine", f"{MODELS / 'complaints.py'}:Three", *INPUT, "--json", "--quick")
    answer = json.loads(ended.stdout)
    assert (ended.exit_code, ended.stderr, answer["status"]) == (4, "", "ok")
    severities = [finding["severity"] for finding in answer["findings"]]
    assert severities == sorted(severities, key=["wrong", "costly", "to know"].index)


def test_a_step_that_is_none_is_told(snnbench):
    steps = MODELS / "steps.py"
    arguments = (f"{steps}:net", *INPUT, "--step", f"{steps}:number", "--classes", "5")
    ended = snnbench("examine", *arguments)
    assert ended.exit_code == 3
    assert "the file gives int as number, not a function" in ended.stdout


ENDS = {
    # model: (exit code, words)
    "Hangs": (3, "timeout: no end after 9 s, stopped in part 'first_call'"),
    "Exits": (3, "crash: exited with status 3 in part 'first_call'"),
    "SysExits": (3, "crash: SystemExit: enough"),
    "Segfaults": (3, "crash: killed by SIGSEGV in part 'first_call'"),
    "ClosesFiles": (3, "crash: exited with status 1 in part 'first_call'"),
    "Recurses": (3, "forward raises RecursionError: maximum recursion depth exceeded (line "),
    "Raises": (3, "forward raises ValueError: no such neuron (line "),
    "Nothing": (3, "forward returns no tensor"),
    "missing": (3, "raises ModuleNotFoundError: No module named 'package_that_is_not_installed'"),
    "number": (3, "the file gives int as number, not a torch.nn.Module"),
    "wrong_width": (3, "forward raises RuntimeError"),
    "batch_first": (3, "it accepts --axes btf, (B, T, features)"),
    "takes_arguments": (3, "missing 1 required positional argument: 'hidden'"),
    "memory": (3, "oom_host: the file runs out of memory (line "),
    "absent": (3, "the file has no 'absent'"),
    "Prints": (0, "no spiking module was found"),
    "PrintsBelow": (0, "no spiking module was found"),
    "ForksOn": (0, "no spiking module was found"),
    "ReturnsTuple": (0, "no spiking module was found"),
    "LazyNeurons": (0, "decay 0.9, threshold 1, surrogate atan of slope 1: proved"),
    "LargeUsed": (0, "no finding"),
    "meta": (3, "the file gives meta on the device meta; build it on the CPU"),
    "cuda": (3, "the file raises "),
    "Returns": (0, "no spiking module was found"),
    "Lazy": (0, "no spiking module was found"),
    "Large": (0, "wide.weight, wide.bias are never used in forward"),
}
QUICK = {"Hangs", "Raises", "memory", "batch_first"}


@pytest.mark.parametrize("name", without(ENDS.keys() - QUICK, ENDS))
def test_a_hostile_model_ends_in_a_sentence(snnbench, name):
    exit_code, words = ENDS[name]
    timeout = ("--timeout", "9s" if name == "Hangs" else "100s")
    ended = snnbench("examine", f"{MODELS / 'hostile.py'}:{name}", *INPUT, *timeout)
    assert (ended.exit_code, ended.stderr) == (exit_code, ""), ended.stdout
    assert words in ended.stdout
    assert len(ended.stdout.splitlines()) <= 5


@pytest.mark.slow
def test_children_that_a_model_leaves_end_with_it(snnbench):
    ended = snnbench("examine", f"{MODELS / 'hostile.py'}:Forks", *INPUT, "--quick")
    assert (ended.exit_code, ended.stderr) == (0, ""), ended.stdout
    variables = [one.info["environ"] or {} for one in psutil.process_iter(["environ"])]
    assert not [one for one in variables if str(snnbench.notes) in one.values()]


@pytest.mark.slow
def test_a_model_that_takes_more_and_more_memory_is_stopped(monkeypatch):
    monkeypatch.setattr(
        "snnbench.runner.examine.Surroundings", partial(Surroundings, memory_bytes=1 << 30)
    )
    examined = examine_model(MODELS / "hostile.py", "Eats", Look((17, 3, 11)), 100.0)
    assert (examined.status, bool(examined)) == ("oom_host", False), examined.reason
    assert examined.reason.startswith("forward runs out of memory (line ")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("net.py", *INPUT), "must be a file and a name in it"),
        (("nowhere.py:net", *INPUT), "nowhere.py: there is no such file"),
        ((f"{MODELS / 'hostile.py'}:Base", "--input", "17,11"), "must be time steps, batch and"),
        ((f"{MODELS / 'hostile.py'}:Base", "--input", "no.npy"), "no.npy: there is no such file"),
        ((f"{MODELS / 'hostile.py'}:Base", *INPUT, "--step", "step"), "step: must be a file and"),
        ((f"{MODELS / 'hostile.py'}:Base", *INPUT, "--classes", "0"), "--classes"),
        (
            (f"{MODELS / 'hostile.py'}:Base", *INPUT, "--write", "swapped.py", "--quick"),
            "--write: needs what --quick leaves out; drop one of them",
        ),
    ],
)
def test_a_mistake_is_one_sentence(snnbench, arguments, words):
    ended = snnbench("examine", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.message


PAGE = (ROOT / "docs" / "examine.md").read_text()
SHOWN = list(
    zip(
        *(re.findall(f"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "text")),
        strict=True,
    )
)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "printed"), SHOWN, ids=["three faults", "none"])
def test_the_page_shows_what_the_command_prints(snnbench, model, printed):
    (snnbench.folder / "model.py").write_text(model)
    ended = snnbench("examine", "model.py:net", "--input", "25,8,70", "--quick")
    assert "\n".join(line.rstrip() for line in ended.stdout.splitlines()) + "\n" == printed
    assert ended.exit_code == (4 if model == SHOWN[0][0] else 0)
