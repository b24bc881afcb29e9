"""The table `slurm` of a config: what is refused, in one sentence."""

import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.experiment.config import load_config
from snnbench.experiment.setting import parse_setting

MISTAKES = {
    # what: (text of the config, words of the message)
    "no part": ('name = "a"\n[slurm]\nparts = 0', ["slurm.parts = 0", "must be above 0"]),
    "unknown key in slurm": (
        'name = "a"\n[slurm]\npartition = "gpu"',
        ["slurm.partition", "unknown key", "[slurm] has parts, options"],
    ),
    "an option of sbatch": (
        'name = "a"\n[slurm]\noptions = ["gpu"]',
        ["slurm.options = 'gpu'", "must look like '--partition=gpu'"],
    ),
    "an array of one's own": (
        'name = "a"\n[slurm]\noptions = ["--array=1-9"]',
        ["slurm.options", "snnbench sets --array itself"],
    ),
    "a log of one's own": (
        'name = "a"\n[slurm]\noptions = ["-omine.log"]',
        ["slurm.options", "snnbench sets -o"],
    ),
    "prelude is a list": (
        'name = "a"\n[slurm]\nprelude = ["a"]',
        ["slurm.prelude = ['a']", "must be a text"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_key_and_value_and_what_would_be_right(tmp_path, mistake):
    text, words = MISTAKES[mistake]
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert (
        str(error.value).startswith(f"{path}: ")
        and [word for word in words if word not in str(error.value)] == []
    )


def test_by_default_a_part_has_its_node_alone(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"')
    table = load_config(path).slurm
    assert (table.parts, table.options, table.prelude) == (1, ["--exclusive"], "")
    settings = map(parse_setting, ['slurm.options=["-pgpu", "--time=1:00"]', "slurm.parts=3"])
    assert load_config(path, [*settings]).slurm.options == [
        "-pgpu",
        "--time=1:00",
    ]
