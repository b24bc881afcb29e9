"""A user's mistake on the real command line: exit code 2, one sentence on stderr, nothing written."""

import pytest
from support.slow import representatives

MISTAKES = {
    # what: (text of the config, further arguments, words of the message)
    "unknown key": (
        'name = "a"\n[grid]\nneurns = [1]',
        [],
        ["grid.neurns", "did you mean 'neurons'"],
    ),
    "unknown framework": (
        'name = "a"\n[grid]\nframework = ["norze"]',
        [],
        ["grid.framework = 'norze'", "did you mean 'norse'"],
    ),
    "unknown variant": (
        'name = "a"\n[grid]\nframework = ["norse:egaer"]',
        [],
        ["grid.framework = 'norse:egaer'", "did you mean 'eager'"],
    ),
    "not TOML": ("[", [], ["is not TOML"]),
    "a key of --set": (
        'name = "a"',
        ["--set", "neurons=[9]"],
        ["--set neurons=[9]: neurons: unknown key; did you mean 'grid.neurons'"],
    ),
    "a value of --set": (
        'name = "a"',
        ["--set", "grid.neurons=[0]"],
        ["--set grid.neurons=[0]: grid.neurons = 0: must be"],
    ),
    "wrong --set": (
        'name = "a"',
        ["--set", "grid.neurons"],
        ["--set grid.neurons", "must look like"],
    ),
    "wrong --only": (
        'name = "a"',
        ["--only", "framwork=norse"],
        ["--only framwork=norse", "did you mean 'framework'"],
    ),
    "more threads than cores": (
        'name = "a"\n[measure]\nthreads = 4096',
        [],
        ["mine.toml: measure.threads = 4096: more than the "],
    ),
    "empty --only": (
        'name = "a"',
        ["--only", "framework=tosch"],
        ["no case left", "framework = tosch", "did you mean 'torch'"],
    ),
    "--only of two that never meet": (
        'name = "a"\nexclude = [{framework = "torch", neurons = 97}]\n[grid]\nframework = ["torch", "norse"]\nneurons = [64, 97]',
        ["--only", "framework=torch,neurons=97"],
        ["no case left after exclude and --only"],
    ),
    "wrong --adapter": (
        'name = "a"',
        ["--adapter", "nowhere.py:Mine"],
        ["--adapter = 'nowhere.py:Mine'", "there is no file"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("verb", representatives(["run", "plan"], [0]))
def test_a_mistake_ends_with_2_and_one_sentence_and_writes_nothing(snnbench, mistake, verb):
    text, arguments, words = MISTAKES[mistake]
    config = snnbench.folder / "mine.toml"
    config.write_text(text)
    before = sorted(snnbench.folder.rglob("*"))
    ended = snnbench(verb, "--config", config, *arguments)
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.message.startswith("snnbench: ")
    assert [word for word in words if word not in ended.message] == [], ended.message
    assert sorted(snnbench.folder.rglob("*")) == before


def test_a_missing_config_and_a_missing_option(snnbench):
    ended = snnbench("run", "--config", "nowhere.toml")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.message == "snnbench: nowhere.toml: there is no such file"
    assert snnbench("run").exit_code == 2
    assert snnbench("rum").exit_code == 2


@pytest.mark.parametrize("verb", ["run", "plan"])
@pytest.mark.parametrize("name", ["mine.toml", "folder/mine.toml"])
def test_the_only_argument_is_the_config(snnbench, verb, name):
    for line in ([verb, name, "--out", "x"], [verb, "--out", name, name]):
        ended = snnbench(*line)
        assert (ended.exit_code, ended.message) == (2, f"snnbench: {name}: there is no such file")
    known = snnbench(verb, "quickstrat")
    assert known.message.startswith(
        "snnbench: quickstrat: there is no such file, nor such a config; did you mean 'quickstart'?"
    )


def test_the_value_of_an_option_and_a_second_config_are_no_config(snnbench):
    for line in (
        ["run", "--out", "quickstart"],
        ["run", "--config", "a.toml", "b.toml"],
        ["run", "a.toml", "b.toml"],
        ["run", "--no-such", "a.toml"],
    ):
        ended = snnbench(*line)
        assert ended.exit_code == 2, line
        assert ended.message.startswith("snnbench: "), line
        assert ended.message.endswith(" (snnbench run -h has what it takes)"), line


@pytest.mark.parametrize(
    "line",
    [
        ["plan", "x" * 100_000],
        ["plan", *["/home/x"] * 9999],
        ["--" + "y" * 100_000],
        ["z" * 100_000],
        ["env", "\x1b[31m"],
    ],
)
def test_a_long_command_line_is_not_repeated_whole(snnbench, line):
    ended = snnbench(*line)
    assert (
        (ended.exit_code, ended.stdout) == (2, "")
        and len(ended.stderr) < 5000
        and "\x1b[31m" not in ended.stderr
    )


def test_a_config_named_like_a_way_out_writes_nothing_elsewhere(snnbench):
    config = snnbench.folder / "mine.toml"
    config.write_text('name = "../outside"')
    assert snnbench("run", "--config", config).exit_code == 2
    assert not (snnbench.folder / "results").exists()
