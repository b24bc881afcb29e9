"""Configs that come with snnbench are found by their names, and a file of that name wins."""

import pytest
from support.paths import ROOT

from snnbench.common.mistakes import ConfigError
from snnbench.experiment import shipped
from snnbench.experiment.config import load_config


def test_every_config_of_the_repository_has_a_name():
    assert shipped.names() == sorted(path.stem for path in (ROOT / "configs").glob("*.toml"))
    assert {"quickstart", "memory", "training"} <= {*shipped.names()}


def test_a_bare_word_is_a_config_of_that_name(snnbench):
    ended = snnbench("plan", "--config", "ci", "--json")
    assert ended.exit_code == 0 and '"name": "ci"' in ended.stdout


def test_a_file_of_that_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text('name = "mine"\n[grid]\nframework = ["torch"]\n')
    assert load_config(shipped.Path("quickstart")).name == "mine"
    (tmp_path / "quickstart").unlink()
    assert load_config(shipped.Path("quickstart")).name == "quickstart"


@pytest.mark.parametrize(
    "word, said",
    [
        ("quickstrat", "did you mean 'quickstart'?"),
        ("zzz", "(there are batch, blocks, ci, compile, convolutions, "),
    ],
)
def test_another_word_is_told_what_there_is(word, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file, nor such a config") as caught:
        load_config(shipped.Path(word))
    assert said in str(caught.value)
