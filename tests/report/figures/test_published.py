"""Published figures beside ours: marked, and never ranked."""

import pytest
from support.paths import ROOT
from support.synthetic import blocks, table_of

from snnbench.mistakes import ConfigError
from snnbench.report.figures import figures_of, read_published


def test_published_figures_are_marked_and_never_ranked(examples):
    theirs = read_published(ROOT / "results" / "published" / "published.csv")
    assert len(theirs) > 1000 and sum(one.nominal for one in theirs) > 100
    records = [r for name in ("torch", "jax") for r in blocks(name, neurons=4096, time_steps=500)]
    table = table_of(records)
    *_, beside = figures_of(table, theirs)
    assert beside.id == "published" and beside.panels
    for panel in beside.panels:
        points = panel.data(table)
        assert {point["ours"] for point in points} == {True, False}
        assert all(point["hardware"] and point["source"] for point in points if not point["ours"])
    assert any(point.get("nominal") for panel in beside.panels for point in panel.points)
    *_, none = figures_of(examples, theirs)
    assert not none.panels and none.missing


def test_a_file_that_holds_no_published_figures_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "p.csv"
    for text in ("", "a,b\n1,2\n"):
        path.write_text(text)
        with pytest.raises(ConfigError, match="must be a CSV file with the columns backend, batch"):
            read_published(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_published(tmp_path / "none.csv")
