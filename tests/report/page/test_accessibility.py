"""report.html for screen readers and without scripts: axe finds nothing, the answer is there."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from support.slow import representatives
from support.visit import Visit


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_winners_are_there_without_scripts(browser, pages, scheme):
    page = browser.new_page(
        viewport={"width": 1400, "height": 900}, color_scheme=scheme, java_script_enabled=False
    )
    page.goto(pages("quickstart"))
    pictures = page.locator("[data-figure=winners] noscript svg")
    assert (
        pictures.count() == 2
        and pictures.first.is_visible()
        and "fused" in pictures.first.text_content()
    )
    assert (
        not page.locator("#filters").is_visible() and page.locator("#cases tbody tr").count() == 24
    )
    page.close()


def violations(seen: Visit) -> dict[str, str]:
    """Returns the first element of each rule that axe finds broken, with all panels drawn and
    unfolded."""
    seen.hold_still()
    seen.page.evaluate(
        "Promise.all([...document.querySelectorAll('.panels')].map((one) => "
        "draw(one.querySelector('.plot'))))"
    )
    seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(seen.page, options={"resultTypes": ["violations"]}).response["violations"]
    return {one["id"]: one["nodes"][0]["html"] for one in found}


@pytest.mark.parametrize(
    "name, width, scheme",
    representatives(
        [("quickstart", 1400, "light"), ("quickstart", 390, "dark"), ("training", 1400, "dark")],
        [1],
    ),
)
def test_axe_finds_nothing(visit, name, width, scheme):
    assert violations(visit(name, width=width, scheme=scheme)) == {}


def test_axe_sees_what_is_wrong(visit):
    seen = visit("hostile")
    spoil = """() => {
      document.querySelector(".answer p").style.color = "#ddd";
      document.querySelector("#csv").textContent = "";
      document.querySelector("html").removeAttribute("lang");
      document.querySelector("#search").parentElement.replaceWith(document.querySelector("#search"));
    }"""
    seen.page.evaluate(spoil)
    assert {"color-contrast", "button-name", "html-has-lang", "label"} <= set(violations(seen))
