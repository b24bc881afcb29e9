"""A browser, and the reports that tests open in it."""

import pytest
from support import paths
from support.synthetic import HOSTILE, blocks, many, record, table_of
from support.visit import Visit

from snnbench.report.files import read_results
from snnbench.report.page.page import html_text


@pytest.fixture(scope="session")
def pages(tmp_path_factory, examples):
    """Paths of reports by name, each made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    def committed(name):
        results = read_results([paths.committed(name)])
        return html_text(results.table, name, sets=results.sets)

    def hostile():
        refused = record(HOSTILE, "check_failed", HOSTILE, passed=False)
        return html_text(
            table_of([*blocks(HOSTILE, neurons=97), *blocks("torch", neurons=97), refused]),
            HOSTILE,
            [HOSTILE],
        )

    def long_names():
        names = (
            "matterhorn-pytorch",
            "spikingjelly:single-step",
            "rockpool:lif-torch-without-recurrence",
        )
        sizes = [(neurons, steps) for neurons in (64, 128, 256, 512) for steps in (10, 1000)]
        ours = []
        for at, (neurons, steps) in enumerate(sizes):
            for place, name in enumerate(names):
                framework, _, construction = name.partition(":")
                step = 1e-5 * steps * (1 + (place - at) % 3 // 2)  # two of them are level
                case = {
                    "neurons": neurons,
                    "time_steps": steps,
                    "construction": construction or "default",
                }
                ours += blocks(framework, step=step, noise=0.005, **case)
        return html_text(table_of(ours), "long names")

    makers = {
        "long names": long_names,
        "quickstart": lambda: committed("quickstart"),
        "training": lambda: committed("training"),
        "hostile": hostile,
        "example": lambda: html_text(examples, "example"),
        "many": lambda: html_text(table_of(many()), "many"),
    }

    def path(name: str) -> str:
        target = folder / f"{name}.html"
        if not target.exists():
            target.write_text(makers[name](), encoding="utf-8")
        return target.as_uri()

    return path


@pytest.fixture
def visit(browser, pages):
    opened = []

    def start(name: str, **how) -> Visit:
        opened.append(Visit(browser, pages(name), **how))
        return opened[-1]

    yield start
    for one in opened:
        one.page.close()
