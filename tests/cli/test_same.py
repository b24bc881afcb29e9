"""`snnbench same` as a command: sentences, JSON and exit codes."""

import json
import shutil

import pytest
from support.paths import FAULTS
from support.slow import representatives

MODELS = FAULTS / "models"
NET, HOSTILE = f"{MODELS / 'complaints.py'}:Net", f"{MODELS / 'hostile.py'}:"
INPUT = ("--input", "17,3,11")


def test_models_of_two_folders_with_files_of_the_same_names_are_told_apart(snnbench):
    for folder, decay in (("old", 0.5), ("new", 0.9), ("newer", 0.9)):
        (snnbench.folder / folder).mkdir()
        shutil.copy(MODELS / "complaints.py", snnbench.folder / folder / "layers.py")
        (snnbench.folder / folder / "model.py").write_text(
            "import layers\n\nclass Net(layers.Net):\n    def step(self, x):\n"
            f"        return super().step(x * {decay})\n"
        )
        layers = snnbench.folder / folder / "layers.py"
        layers.write_text(layers.read_text().replace("0.75 *", f"{decay} *"))
    ended = snnbench("same", "old/model.py:Net", "new/model.py:Net", *INPUT)
    assert (ended.exit_code, ended.stderr) == (4, "")
    assert ended.stdout.startswith("they differ: spikes of lif1 differ from step ")
    ended = snnbench("same", "new/model.py:Net", "newer/model.py:Net", *INPUT, "--json")
    answer = json.loads(ended.stdout)
    assert (ended.exit_code, answer["same"], answer["difference"]) == (0, True, "")


ENDS = [
    ((NET, NET), 0, "same: 1 output, spikes of 2 layers and gradients of 4 parameters"),
    ((NET, f"{HOSTILE}Raises"), 3, "hostile.py:Raises raises ValueError: no such neuron (line"),
    ((f"{HOSTILE}Hangs", NET), 3, "timeout: no end after 9 s, stopped in part 'first_call'"),
    ((NET, f"{HOSTILE}absent"), 3, "the file has no 'absent'"),
    ((NET, "net.py"), 2, "net.py: must be a file and a name in it"),
]


@pytest.mark.parametrize("models, exit_code, words", representatives(ENDS, {0, 1, 4}))
def test_other_ends_are_a_sentence(snnbench, models, exit_code, words):
    timeout = "9s" if "Hangs" in models[0] else "100s"
    ended = snnbench("same", *models, *INPUT, "--timeout", timeout)
    assert ended.exit_code == exit_code
    assert words in (ended.message if exit_code == 2 else ended.stdout)
