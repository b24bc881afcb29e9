"""The config on a report's page says what the experiment of its records says."""

import pytest
from support.paths import ROOT

from snnbench.experiment.config import load_config
from snnbench.report.page.reproduce import as_toml

CONFIGS = sorted(path.name for path in (ROOT / "configs").glob("*.toml"))


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "own-network.toml"])
def test_every_shipped_config_can_be_written_again(tmp_path, name):
    experiment = load_config(ROOT / "configs" / name)
    (tmp_path / name).write_text(as_toml(experiment))
    again = load_config(tmp_path / name)
    assert again.model_dump(exclude={"slurm", "adapters"}) == experiment.model_dump(exclude={"slurm", "adapters"})
