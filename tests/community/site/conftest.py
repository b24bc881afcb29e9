"""A made-up site in a browser that records every error and request."""

import pytest
from support.sites import three_by_three, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("site"), three_by_three())


@pytest.fixture
def visit(browser):
    pages = []

    def start(folder, page="index.html", width=1400, scheme="light"):
        seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        seen.heard, seen.asked, inside = [], [], folder.as_uri() + "/"
        seen.on("console", lambda said: seen.heard.append(f"{said.type}: {said.text}"))
        seen.on("pageerror", lambda error: seen.heard.append(f"error: {error}"))
        seen.on("dialog", lambda dialog: seen.heard.append(f"dialog: {dialog.message}"))
        seen.on(
            "request",
            lambda asked: (
                seen.asked.append(asked.url) if not asked.url.startswith(inside) else None
            ),
        )
        seen.goto(inside + page)
        if page.startswith(("index", "machine")):
            seen.wait_for_selector("body[data-group]")
        pages.append(seen)
        return seen

    yield start
    for page in pages:
        assert page.heard == [] and page.asked == [], (page.heard, page.asked)
        page.close()
