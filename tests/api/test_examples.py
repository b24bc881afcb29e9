"""The examples of docs/python.md and of the docstrings of `import snnbench` run, at small sizes."""

import inspect
import re
import textwrap

import pytest
from support.paths import ROOT

import snnbench

PAGE = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs" / "python.md").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)
SMALL = {
    r'"neurons": \[\d+\]': '"neurons": [31], "time_steps": [37], "batch": [3], "device": ["cpu"]',
    r"\bneurons=\d+": "neurons=31, time_steps=37, batch=3",
    r'measure={"blocks": \d+}': 'measure={"blocks": 1, "most_blocks": 1, "passes": 1, "slot": "5ms", "phases": ["step"]}',
}
"""What is measured or proved in place of an example's sizes."""


def run(code: str) -> None:
    for pattern, small in SMALL.items():
        code = re.sub(pattern, small, code)
    exec(compile(code, "example", "exec"), {"__name__": "__main__", "snnbench": snnbench})


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    for path in (ROOT / "results").iterdir():
        (tmp_path / "results" / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("load", "compare", "plot", "examine", "same")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in snnbench._CALLED
    ],
)
def test_the_example_of_a_function_runs(name, here):
    text = inspect.getdoc(getattr(snnbench, name))
    run(textwrap.dedent(text.partition("Example:\n")[2]))


def test_the_examples_of_the_page_run(here):
    run("\n".join(PAGE[:-1]))


@pytest.mark.slow
def test_the_example_of_runs_and_proofs_runs(here):
    run(PAGE[-1])


def test_an_example_that_fails_is_found(here):
    with pytest.raises(snnbench.ConfigError):
        run('snnbench.check("torch", neurns=3)')
