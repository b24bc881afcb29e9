"""Tables and pictures of the README and docs/ equal those that committed records give; links work.

`python tests/test_readme.py` generates them again.
"""

import re
import tomllib
from pathlib import Path

import pytest
from support.across_table import across_text
from support.claims_table import claims_of, claims_text
from support.compiled_table import compiled_text
from support.first_table import first_text
from support.gradients_table import gradients_text
from support.history_table import history_text
from support.memory_table import memory_text
from support.names_table import names_text
from support.paths import ROOT, committed
from support.scaling_table import scaling_text
from support.ties_table import ties_text

import snnbench
from snnbench.adapters.registry import FRAMEWORKS
from snnbench.experiment import shipped
from snnbench.report.figures.winners import winners
from snnbench.report.files import read_results
from snnbench.report.plots import DRAWING, paper_spec
from snnbench.report.tables.markdown import markdown_text
from snnbench.report.tables.proved import matrix_text
from snnbench.workloads import WORKLOADS

README, PAGES = ROOT / "README.md", sorted((ROOT / "docs").glob("*.md"))
SHELVES, KERNELS = ROOT / "docs" / "README.md", ROOT / "docs" / "kernels.md"
EXAMINE = ROOT / "docs" / "examine.md"
EXAMPLE = committed("example")
TEXT = {
    "table": markdown_text,
    "across": across_text,
    "compiled": compiled_text,
    "coverage": matrix_text,
    "memory": memory_text,
    "first": first_text,
    "history": history_text,
    "scaling": scaling_text,
}
BLOCK = re.compile(
    rf"(<!-- ({'|'.join(TEXT)}|claims|gradients|names|ties): (\S+) -->\n)(.*?)(<!-- end of table -->)",
    re.DOTALL,
)
MOST_LINES = 130
"""Limit of the README; longer subjects have a page in docs/."""
WITHOUT_ADAPTER = ("bindsnet", "snnax", "eventax")
"""Frameworks in committed records of which nothing can be proved."""
STATED_ONCE = {"not on PyPI": "environments.md", "No GPU has run": "gpu.md"}
"""Facts that will change, each with the one page that states it."""


def generated(text: str) -> str:
    def table(match):
        if match[2] == "claims":
            return f"{match[1]}\n{claims_text(claims_of(ROOT / match[3]))}\n{match[5]}"
        if match[2] == "names":
            return f"{match[1]}\n{names_text(match[3])}\n{match[5]}"
        if match[2] == "gradients":
            return f"{match[1]}\n{gradients_text(match[3])}\n{match[5]}"
        if match[2] == "ties":
            return f"{match[1]}\n{ties_text(match[3])}\n{match[5]}"
        results = read_results([ROOT / match[3]])
        assert results.rows, f"no records in {match[3]}"
        assert not results.unreadable, results.unreadable
        return f"{match[1]}\n{TEXT[match[2]](results.table)}\n{match[5]}"

    return BLOCK.sub(table, text)


def pictures() -> dict[Path, bytes]:
    """Returns the winners' map of the example set for each precision."""
    table = read_results([EXAMPLE]).table
    figure = winners(table)
    steps = [panel for panel in figure.panels if panel.where["phase"] == "step"]
    return {
        ROOT / "docs" / f"winners-{p.where['precision']}.svg": DRAWING[".svg"](
            paper_spec(figure, p, table)
        )
        for p in steps
    }


def test_tables_are_generated_from_committed_records():
    seen = set()
    for page in (README, *PAGES):
        text = page.read_text(encoding="utf-8")
        seen |= {match[2] for match in BLOCK.finditer(text)}
        assert text == generated(text), page.name
    assert seen == {*TEXT, "claims", "gradients", "names", "ties"}


def test_the_first_page_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


LINK = re.compile(r"\]\(([^)#:]*)(#[^)]*)?\)|src=\"([^\"]+)\"")


@pytest.mark.parametrize(
    "page",
    [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_and_their_headings_exist(page):
    for file, heading, image in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / (file or image) if file or image else page
        assert target.exists(), file or image
        if heading:
            assert heading[1:] in anchors(target), f"{file}{heading}"


def anchors(page: Path) -> set[str]:
    """Returns the anchors that a Markdown renderer gives to the page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_the_readme_shows_of_an_examination_is_what_its_page_shows():
    """`tests/cli/test_examine.py` runs it."""
    shown = [
        re.findall("```text\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for page in (README, EXAMINE)
    ]
    assert shown[0] == shown[1][:1]


def test_changes_and_citation_are_of_this_version():
    version = snnbench.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        == version
    )


def test_every_page_stands_on_one_of_the_four_shelves():
    assert "](docs/README.md)" in README.read_text(encoding="utf-8")
    text = SHELVES.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Use",
        "Understand",
        "Extend",
        "Reference",
    ]
    others = [page.name for page in PAGES if page != SHELVES]
    assert sorted(re.findall(r"^\| \[[^\]]+\]\(([a-z-]+\.md)\)", text, re.MULTILINE)) == others


@pytest.mark.parametrize("phrase", STATED_ONCE)
def test_a_fact_that_will_change_is_stated_on_one_page(phrase):
    stating = [
        page.name for page in (README, *PAGES) for _ in range(page.read_text().count(phrase))
    ]
    assert stating == [STATED_ONCE[phrase]]


def test_pictures_are_drawn_from_committed_records():
    drawn = pictures()
    assert set((ROOT / "docs").glob("*.svg")) == set(drawn)
    shown = "".join(page.read_text(encoding="utf-8") for page in (README, *PAGES))
    for path, content in drawn.items():
        assert path.read_bytes() == content and path.name in shown, path.name


def test_the_example_leaves_out_what_its_page_says():
    table = read_results([EXAMPLE]).table
    ran = {
        name: [entry.values for entry in table.entries if entry.variant == name and entry.row.sound]
        for name in table.variants
    }
    assert {name: len(values) for name, values in ran.items() if len(values) != 12} == {
        "torch:compile": 5,
        "bindsnet": 0,
    }
    compiled = {
        (values["precision"], values["neurons"], values["time_steps"])
        for values in ran["torch:compile"]
    }
    assert compiled == {
        *(("fp32", size, 100) for size in (64, 256, 1024)),
        ("fp32", 1024, 500),
        ("bf16", 1024, 500),
    }
    assert len(ran) - 1 == 9, "nine variants, and BindsNET"


def test_every_framework_has_its_line_and_none_has_failed():
    rows = read_results([committed("coverage")]).rows
    assert {row.case.framework for row in rows} == {*FRAMEWORKS, *WITHOUT_ADAPTER}
    assert {row.status for row in rows} == {"ok", "unsupported", "env_error"}
    assert {row.case.framework for row in rows if row.status == "env_error"} == {
        "sinabs-exodus",
        "rockpool-exodus",
    }


def test_the_kernels_example_does_what_it_says():
    (code,) = re.findall(
        r"```python\n(import torch\nfrom snnbench\.kernels.*?)```",
        KERNELS.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    seen = {}
    exec(code, seen)
    assert seen["spikes"].shape == (100, 16, 10)
    assert seen["first"].spikes.mean() > 0 and seen["second"].state.shape == (16, 10)


def test_every_config_and_folder_named_exists():
    text = "".join(page.read_text(encoding="utf-8") for page in (README, *PAGES))
    for name in re.findall(r"`(configs/[a-z-]+\.toml|[a-z]+/(?:[a-z_]+/)?)`", text):
        assert (ROOT / name).exists() or name == "records/", name


def test_every_config_and_workload_is_in_a_document():
    text = "".join(page.read_text(encoding="utf-8") for page in (README, *PAGES))
    assert [name for name in WORKLOADS if f"`{name}`" not in text] == []
    named = [re.sub("^history-.*", "history-NAME", name) for name in shipped.names()]
    assert [name for name in named if f"`{name}`" not in text] == []


VERBS = "quick|run|plan|check|profile|report|merge|compare|bundle|verify|site|badge|init|env"


def test_every_option_in_a_documented_command_exists(snnbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    named: dict[tuple[str, ...], set[str]] = {}
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *PAGES):
        for words in re.findall(rf"snnbench ((?:{VERBS})\b[^\n`#|]*)", page.read_text("utf-8")):
            verb = re.match(r"env [a-z]+|[a-z]+", words)[0]
            named.setdefault(tuple(verb.split()), set()).update(re.findall(r" (--[a-z-]+)", words))
    assert len(named) > 15
    for verb, options in named.items():
        known = set(re.findall(r"--[a-z-]+", snnbench(*verb, "--help").stdout))
        assert options <= known, (verb, options - known)


if __name__ == "__main__":
    for each in (README, *PAGES):
        each.write_text(generated(each.read_text(encoding="utf-8")), encoding="utf-8")
    for path, content in pictures().items():
        path.write_bytes(content)
