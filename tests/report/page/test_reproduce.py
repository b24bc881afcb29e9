"""The config on a report's page equals the experiment of its records."""

import pytest
from support.paths import ROOT

from snnbench.experiment.config import load_config
from snnbench.report.page.reproduce import ResultSet, as_toml, given_by_command

CONFIGS = sorted(path.name for path in (ROOT / "configs").glob("*.toml"))


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "own-network.toml"])
def test_every_shipped_config_can_be_written_again(tmp_path, name):
    experiment = load_config(ROOT / "configs" / name)
    (tmp_path / name).write_text(as_toml(experiment))
    again = load_config(tmp_path / name)
    assert again.model_dump(exclude={"slurm", "adapters"}) == experiment.model_dump(
        exclude={"slurm", "adapters"}
    )


def test_the_command_names_adapters_that_the_config_does_not():
    contents = ResultSet("mine", 3, "", adapters=["configs/named.py:Named"])
    of_records = [
        "named.py:Named",
        "my own.py:Mine",
        "my own.py:Mine",
        "snnbench.adapters.norse:Norse",
        "package.adapter:Theirs",
    ]
    assert given_by_command(contents, of_records) == ["'my own.py:Mine'"]
