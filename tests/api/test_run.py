"""`snnbench.run`: the runs of the command line, in Python."""

import threading

import pytest
from support.paths import FAULTY

import snnbench as own
from snnbench.runner.execute import Runner, git_commit

NUMPY = f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"
TINY = {"neurons": [97], "time_steps": [37], "batch": [3], "device": ["cpu"]}
EXPERIMENT = {
    "name": "odd",
    "adapters": [NUMPY],
    "grid": {"framework": ["numpy"], **TINY},
    "measure": {
        "blocks": 1,
        "most_blocks": 1,
        "passes": 1,
        "slot": "5ms",
        "threads": 1,
        "phases": ["step"],
    },
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_values_and_a_file_are_one_experiment_and_the_command_line_goes_on_from_there(
    snnbench, here
):
    config = snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"])
    ended = {}
    thread = threading.Thread(
        target=lambda: ended.update(results=own.run(config, "out", neurons=[61, 97]))
    )
    thread.start()  # where no signal can be handled, as in some notebooks
    thread.join()
    results = ended["results"]
    assert [*results.frame["neurons"]] == [61, 97] and results.frame["ranked"].all()
    again = snnbench.run(config, "--set", "grid.neurons=[61,97]")
    assert again.exit_code == 0 and again.stderr.count("kept, ok") == 2
    assert [row["case_id"] for row in again.rows] == [*results.frame["case_id"]]
    assert {row["git_commit"] for row in again.rows} == {git_commit() or ""}


@pytest.mark.slow
def test_only_what_was_asked_for_is_returned_and_the_folder_keeps_the_rest(here, capsys):
    first = own.run(EXPERIMENT, here / "out", neurons=31)
    second = own.run(EXPERIMENT, here / "out", neurons=range(61, 62), framework="numpy")
    assert [[*results.frame["neurons"]] for results in (first, second)] == [[31], [61]]
    assert len(own.load(here / "out")) == 2 and (here / "out" / "report.html").is_file()
    assert "block 1: ok" in (told := capsys.readouterr()).err and told.out == ""


@pytest.mark.slow
def test_a_failing_case_is_a_row(here):
    raising = f"{FAULTY / 'raising.py'}:ForwardRaises"
    frame = own.run(EXPERIMENT, adapters=[raising]).frame.set_index("framework")
    assert (here / "results/local/odd/results.csv").is_file()
    assert frame.loc["numpy", "status"] == "ok" and frame.loc["forward-raises", "status"] == "error"


def test_interrupted_it_says_how_to_go_on_and_keeps_what_is_finished(here, monkeypatch):
    def interrupted(self, *of, own=Runner._block):
        yield from own(self, *of)
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "_block", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same call goes on from there"):
        own.run(EXPERIMENT, "out", neurons=[31, 61])
    assert len(own.load("out")) == 1


MISTAKES = {
    "no such file": (lambda: own.run("nowhere.toml"), "nowhere.toml: there is no such file"),
    "no config": (
        lambda: own.run(3),
        "run(): config is of type int: must be a TOML file, or its values as a dict",
    ),
    "no name": (lambda: own.run({"grid": TINY}), "config: name: is missing"),
    "a value": (lambda: own.run(EXPERIMENT, neurons=[31, 0]), "run(neurons=0): must be above 0"),
    "an axis": (
        lambda: own.run(EXPERIMENT, neurns=3),
        "run: grid.neurns: unknown key; did you mean 'neurons'?",
    ),
    "of another table": (
        lambda: own.run(EXPERIMENT, blocks=1),
        "run(blocks=1): blocks belongs to measure: run(measure={'blocks': 1})",
    ),
    "of the config": (
        lambda: own.run(EXPERIMENT, seed=3),
        "run(seed=3): seed is a key of the config itself, such as {'name': 'mine', 'seed': …}",
    ),
    "of measure": (
        lambda: own.run(EXPERIMENT, measure={"blocks": 0}),
        "run(measure={'blocks': 0}): must be above 0",
    ),
    "of the values": (
        lambda: own.run({**EXPERIMENT, "grid": {"batch": [0]}}),
        "config: grid.batch = 0: must be above 0",
    ),
    "executor": (
        lambda: own.run(EXPERIMENT, executor="dokcer"),
        "run(executor='dokcer'): must be one of local, docker, slurm; did",
    ),
    "framework": (
        lambda: own.run(EXPERIMENT, framework="numpi"),
        "run(framework='numpi'): unknown framework; did you mean",
    ),
    "only": (lambda: own.run(EXPERIMENT, only="framework=x"), "--only framework=x: no case left"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_the_sentence_of_the_command_line_and_nothing_is_written(here, mistake):
    call, sentence = MISTAKES[mistake]
    with pytest.raises(own.ConfigError) as caught:
        call()
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
    assert not [*here.iterdir()]
