"""`snnbench.plot`: the figures of a report, in Python."""

import pytest
from support.paths import committed

import snnbench as own
from snnbench.report.plots import DRAWING

SET = committed("quickstart")


def test_figures_are_shown_in_a_notebook_and_saved(tmp_path):
    plots = own.plot(own.load(SET), "times", "scaling", phases="step")
    names = [*plots]
    assert [name[: len("times-01-neuron-soft")] for name in names[::2]] == [
        "times-01-neuron-soft",
        "times-02-neuron-hard",
    ]
    assert names[1::2] == [name.replace(".svg", ".txt") for name in names[::2]]
    assert plots.missing == [
        "scaling: All cases with times have the same number of neurons, time steps and batch items."
    ]
    assert repr(plots).splitlines() == [*names, *plots.missing]
    page = plots._repr_html_()
    assert page.count("<img") == 2 and plots.missing[0] in page and "<script" not in page
    saved = plots.save(tmp_path / "new")
    assert [path.read_bytes() for path in saved] == [*plots.values()]
    assert all(plots[name].startswith(b"<svg") for name in names[::2])


def test_without_names_each_figure_is_drawn_once_in_every_format(monkeypatch):
    for suffix in DRAWING:
        monkeypatch.setitem(DRAWING, suffix, lambda spec, suffix=suffix: suffix.encode())
    plots = own.plot(SET, phases=["step"], formats=["svg", "pdf"])
    kinds = [name.rpartition("-")[0].partition("-")[0] for name in plots if name.endswith(".pdf")]
    assert len(kinds) == len({*kinds}) > 3 and len(plots) == 3 * len(kinds)
    assert {*plots.values()} > {b".svg", b".pdf"}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: own.plot(SET, "tims"), "plot('tims'): must be one of coverage, winners, times,"),
        (lambda: own.plot(SET, formats="jpg"), "plot(formats='jpg'): must be one of png, svg, pdf"),
        (lambda: own.plot(SET, phases="steps"), "plot(phases='steps'): must be one of "),
        (lambda: own.plot("nowhere"), "nowhere: there is no such folder"),
    ],
)
def test_a_mistake_is_one_sentence(call, sentence):
    with pytest.raises(own.ConfigError) as caught:
        call()
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
