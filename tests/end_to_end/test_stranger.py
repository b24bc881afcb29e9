"""Somebody who knows a framework writes one short file, and it runs without being installed."""

import json
import re
import textwrap

import pytest
from support.command_line import TINY

STRANGER = textwrap.dedent("""
    import torch
    from snnbench.adapters import TorchAdapter

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u):
            ctx.save_for_backward(u)
            return (u >= 0).to(u.dtype)
        @staticmethod
        def backward(ctx, g):
            return g / (1 + ctx.saved_tensors[0].abs()) ** 2

    class Mine(TorchAdapter):
        name = "mine"
        def neuron(self, spec, features):
            class Loop(torch.nn.Module):
                def forward(self, currents):
                    v, spikes = torch.zeros_like(currents[0]), []
                    for current in currents.unbind(0):
                        v = spec.decay * v + current
                        spikes.append(Spike.apply(v - spec.threshold))
                        v = v - spec.threshold * spikes[-1]
                    return torch.stack(spikes)
            return Loop()
""").lstrip()


@pytest.fixture
def stranger(snnbench):
    folder = snnbench.folder / "somewhere" / "else"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(STRANGER)
    return folder / "mine.py"


def test_a_stranger_s_file_of_25_lines_runs(snnbench, stranger):
    assert len([line for line in STRANGER.splitlines() if line]) <= 25
    config = snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"])
    ended = snnbench.run(config, "--adapter", "somewhere/else/mine.py:Mine")
    assert ended.exit_code == 0, ended.stderr
    assert {row["framework"]: row["status"] for row in ended.rows} == {"numpy": "ok", "mine": "ok"}
    assert ended.record("mine")["proof"]["passed"]
    assert ended.record("mine")["adapter"]["source_sha256"]


def test_check_holds_it_to_the_same_proof(snnbench, stranger):
    ended = snnbench("check", "--adapter", f"{stranger}:Mine", "--neuron", "soft", "--neuron", "hard", "--json", *TINY)
    assert ended.exit_code == 4, "its reset is soft whatever is asked"
    results = {result["case"]["neuron"]["reset"]: result for result in json.loads(ended.stdout)}
    assert {result["case"]["framework"] for result in results.values()} == {"mine"}, "without names only what was given"
    assert results["soft"]["status"] == "ok"
    assert results["hard"]["status"] == "check_failed" and "resets like `soft`" in results["hard"]["reason"]


def test_a_class_that_is_no_adapter_and_one_that_is_not_in_the_file_are_told_so(snnbench):
    (snnbench.folder / "mine.py").write_text("class Spike:\n    pass\n")
    ended = snnbench("check", "--adapter", "mine.py:Spike", "--adapter", "mine.py:Mein", "--neuron", "soft")
    assert ended.exit_code == 3
    assert "is not a subclass of TorchAdapter" in ended.stdout
    assert re.search("Mein.*has no attribute|no attribute.*Mein", ended.stdout), ended.stdout


@pytest.mark.frameworks
def test_files_named_like_frameworks_in_the_current_folder_hide_nothing(snnbench):
    for name in ("norse", "torch", "numpy", "snnbench", "json"):
        (snnbench.folder / f"{name}.py").write_text('raise RuntimeError("the wrong file")\n')
    (snnbench.folder / "mine.py").write_text(STRANGER)
    ended = snnbench.installed("check", "mine", "--adapter", "mine.py:Mine", "--neuron", "soft", *TINY)
    assert ended.exit_code == 0, ended.stdout + ended.stderr
