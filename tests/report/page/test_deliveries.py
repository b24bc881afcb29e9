"""Reports of delivered data: proofs of data, epochs instead of steps, and the command to repeat
them."""

from html import unescape

import pytest
from support.paths import committed
from support.recordings import data_case
from support.synthetic import blocks, figure, table_of

from snnbench.report.files import read_results
from snnbench.report.page.page import html_text
from snnbench.report.table import Table
from snnbench.report.tables.markdown import markdown_text


def words_of(table: Table, sets=()) -> str:
    """Returns the page without its scripts and marks."""
    return " ".join(unescape(html_text(table, "data", sets=sets)).split())


@pytest.fixture(scope="module")
def results():
    return read_results([committed("data")])


@pytest.fixture(scope="module")
def page(results):
    return words_of(results.table, results.sets)


def test_the_experiment_is_given_again(page):
    assert (
        "not one that this version of snnbench understands" not in page
        and "snnbench run --config data.toml" in page
    )


def test_what_is_proved_is_that_frames_and_labels_are_equal(results, page):
    assert "was first proved: its frames and labels equal tonic's, element by element." in page
    assert "float64 oracle" not in page and "No proof was tried" not in page
    assert figure(results.table, "proof").missing.endswith("equal tonic's, element by element.")


def test_what_is_timed_is_an_epoch(results, page):
    assert "are of the epoch, among cases" in page and '<option value="step">epoch</option>' in page
    assert all("step" not in panel.title for panel in figure(results.table, "times").panels)
    assert all(
        "| epoch |" in line
        for line in markdown_text(results.table).splitlines()
        if "framework" in line
    )


def test_only_what_no_column_has_is_measured_nowhere(page):
    nowhere = page[page.index("Measured nowhere:") :]
    assert (
        "the energy of a step" in nowhere
        and "recordings as batches" not in nowhere
        and "loading of data" not in nowhere
    )


def test_beside_networks_both_are_said():
    axes = {
        name: value
        for name, value in vars(data_case("frames", "packed")).items()
        if name != "framework"
    }
    mixed = table_of([*blocks("frames", **axes), *blocks("torch")])
    text = words_of(mixed)
    assert (
        "Every ranked row was first proved to compute" in text
        and "Every ranked delivery of data was first proved:" in text
    )
    assert (
        mixed.step == "step"
        and "what is timed of a delivery of data, in the place of a step" in text
    )


def test_an_epoch_of_the_whole_data_set_is_told(results):
    """SSC has 75,466 recordings for training, the case 2,000 of them."""
    timed = [entry for entry in results.table.entries if entry.values["step_s"]]
    assert timed
    for entry in timed:
        recordings = entry.row.first.facts["batches"] * entry.row.case.batch
        whole = entry.values["step_s"] * 75_466 / recordings
        assert entry.values["epoch_s"] == pytest.approx(whole)
