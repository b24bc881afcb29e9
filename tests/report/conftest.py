"""What tests of the report share: one set of made-up cases, and one browser."""

import os
import shutil

import pytest
from support.synthetic import example, table_of

from snnbench.report.table import Table

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def examples() -> Table:
    """The cases of `example()`."""
    return table_of(example())


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None and not os.environ.get("SNNBENCH_NEEDS_BROWSER"):
        pytest.skip("there is no chromium here (apt-get install chromium): the report is not looked at")
    assert CHROMIUM, "SNNBENCH_NEEDS_BROWSER is set, and there is no chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()
