"""What wins over a config's values: `--set`, options of verbs, arguments in Python."""

import re

import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.core.case import NATIVE
from snnbench.core.variant import VariantPattern
from snnbench.experiment.config import load_config
from snnbench.experiment.setting import Argument, Option, parse_setting


def read(path, *settings):
    return load_config(path, [*map(parse_setting, settings)])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("grid.neurons", ["--set grid.neurons", "must look like"]),
        ("=3", ["--set =3", "must look like"]),
        ("name.x=3", ["--set name.x=3", "name is not a table"]),
        ("grid.neurns=[3]", ["grid.neurns", "did you mean 'neurons'"]),
        ("grid.neurons=three", ["grid.neurons = 'three'", "whole number"]),
        ("measure.budget=soon", ["measure.budget = 'soon'", "'60s'"]),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, setting, words):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"')
    with pytest.raises(ConfigError) as caught:
        read(path, setting)
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message


def test_settings_win_over_the_file_and_need_no_quotes(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"\n[grid]\nneurons = [64]')
    experiment = read(
        path, "grid.neurons=[97, 31]", "measure.budget=250ms", "seed=3", "grid.precision=['bf16']"
    )
    assert experiment.grid.neurons == [97, 31]
    assert experiment.measure.budget == 0.25
    assert experiment.seed == 3
    assert experiment.grid.precision == ["bf16"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([], "config: grid.neurons = 0: must be above 0"),
        ([Argument("grid.neurons", [31, -1], "run")], "run(neurons=-1): must be above 0"),
        (
            [Argument("grid.neurons", [31], "run"), Argument("grid.neurns", [31], "run")],
            "run: grid.neurns: unknown key; did you mean 'neurons'?",
        ),
        (
            [Argument("grid.neurons", [31], "run"), Argument("grid.width", [3], "run")],
            "run(width=3): means nothing for linear-lif",
        ),
        ([Option("grid.neurons", [-1], "--neurons")], "--neurons -1: must be above 0"),
    ],
)
def test_a_mistake_in_values_or_in_what_wins_over_them_is_named(settings, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        load_config({"name": "a", "grid": {"neurons": [0]}}, settings)


def test_one_value_of_an_axis_needs_no_brackets_on_the_command_line(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"')
    grid = read(path, "grid.neuron=native", "grid.neurons=97", "grid.framework=torch:*").grid
    assert (grid.neuron, grid.neurons, grid.framework) == (
        [NATIVE],
        [97],
        [VariantPattern("torch", words=("*",))],
    )
