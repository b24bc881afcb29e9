"""Printed reports have every figure, although the screen draws each as it comes into view."""

import pytest
from support.slow import representatives

AT_LOAD = (
    "addEventListener('load', () => { window.completeAtLoad = "
    "document.body.classList.contains('complete'); })"
)
AT_PRINT = """() => addEventListener("beforeprint", () => {
  const plots = [...document.querySelectorAll(".plot")];
  window.printed = [plots.length, plots.filter((plot) => plot.querySelector("svg")).length];
})"""
"""A listener behind the page's own, which sees what is printed."""


@pytest.mark.parametrize("name", representatives(["quickstart", "training"], [1]))
def test_every_figure_is_printed_and_none_twice(visit, name):
    seen = visit(name)
    seen.hold_still()
    seen.page.evaluate(AT_PRINT)
    assert seen.page.pdf().startswith(b"%PDF")
    plots, drawn = seen.page.evaluate("window.printed")
    assert plots == drawn > 10
    assert seen.heard == []


def test_a_browser_that_prints_as_soon_as_a_page_has_loaded_finds_the_data(visit):
    seen = visit("training", before=lambda page: page.add_init_script(AT_LOAD))
    assert seen.page.evaluate("window.completeAtLoad") is True


def test_a_button_for_more_says_how_many_or_nothing(visit):
    seen = visit("quickstart")
    texts = seen.page.locator("button.more").evaluate_all(
        "(all) => all.map((one) => one.textContent)"
    )
    assert texts and all(text == "" or int(text.split()[1]) > 0 for text in texts)


def test_a_caption_stays_with_its_picture(visit):
    """Cells of a grid may be parted by the end of a page, whatever they ask for; boxes in a line
    may not."""
    seen = visit("quickstart")
    seen.page.emulate_media(media="print")
    display = (
        "(one) => [getComputedStyle(one).display, "
        "getComputedStyle(one.querySelector('figure')).display]"
    )
    assert seen.page.locator(".panels:has(figure)").first.evaluate(display) == [
        "block",
        "inline-block",
    ]
