"""`--executor slurm` where it means nothing, and how parts are counted before anything is submitted."""

import pytest

WITH = "--executor", "slurm"


@pytest.mark.parametrize(
    "verb, arguments, sentence",
    [
        (
            "run",
            [*WITH, "--shard", "1/2"],
            "--shard 1/2: --executor slurm deals out the parts itself; set slurm.parts in the config",
        ),
        ("run", ["--detach"], "--detach: only --executor slurm has something to leave behind"),
        ("plan", WITH, "--executor slurm: only run has it; each part of it plans on its own node"),
        (
            "run",
            [*WITH, "--only", "neurons=98"],
            "--only neurons=98: no case left: none has neurons = 98 (there are 97)",
        ),
        (
            "run",
            [*WITH, "--adapter", "nowhere.py:Mine"],
            "--adapter = 'nowhere.py:Mine': there is no file {folder}/nowhere.py",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(snnbench, verb, arguments, sentence):
    config = snnbench.config(["torch"])
    before = sorted(snnbench.folder.rglob("*"))
    ended = snnbench(verb, "--config", config, *arguments)
    assert (ended.exit_code, ended.message) == (
        2,
        f"snnbench: {sentence.format(folder=snnbench.folder)}",
    )
    assert sorted(snnbench.folder.rglob("*")) == before


def test_more_parts_than_there_can_be_are_fewer(snnbench):
    """It is said on the login node, not by every part after it has waited."""
    config = snnbench.config(
        ["torch", "jax"],
        grid='neurons = [41, 61]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]',
    )
    config.write_text(f"{config.read_text()}\n[slurm]\nparts = 5\n")
    snnbench.environment["PATH"] = str(snnbench.folder)
    ended = snnbench.run(config, *WITH)
    said = "snnbench: slurm.parts = 5: cases that differ in framework only stay together, so there are 2 parts"
    assert ended.exit_code == 2 and ended.stderr.splitlines()[0] == said
