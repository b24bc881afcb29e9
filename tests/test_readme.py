"""The README's tables and pictures are made from committed records. `python tests/test_readme.py` makes them anew."""

import re
from pathlib import Path

from support.memory_table import memory_text
from support.paths import ROOT

from snnbench.adapters.registry import BUILT_IN
from snnbench.report.figures.winners import winners
from snnbench.report.files import read_results
from snnbench.report.plots import DRAWING, paper_spec
from snnbench.report.tables.markdown import markdown_text
from snnbench.report.tables.proved import matrix_text

README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- (table|coverage|memory|claims): (\S+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
EXAMPLE = ROOT / "results" / "example"
TEXT = {"table": markdown_text, "coverage": matrix_text, "memory": memory_text}


def generated(text: str) -> str:
    def table(match):
        results = read_results([ROOT / match[3]])
        assert results.rows, f"no records in {match[3]}"
        assert not results.unreadable, results.unreadable
        return f"{match[1]}\n{TEXT[match[2]](results.table)}\n{match[5]}"

    return BLOCK.sub(table, text)


def pictures() -> dict[Path, bytes]:
    """Who is fastest at a step in the example set, a picture for each precision."""
    table = read_results([EXAMPLE]).table
    figure = winners(table)
    steps = [panel for panel in figure.panels if panel.where["phase"] == "step"]
    return {EXAMPLE / f"winners-{p.where['precision']}.svg": DRAWING[".svg"](paper_spec(figure, p, table)) for p in steps}


def test_tables_are_generated_from_committed_records():
    text = README.read_text(encoding="utf-8")
    assert {match[2] for match in BLOCK.finditer(text)} == set(TEXT)
    assert text == generated(text)


def test_pictures_are_drawn_from_committed_records():
    drawn = pictures()
    assert set(EXAMPLE.glob("*.svg")) == set(drawn)
    for path, content in drawn.items():
        assert path.read_bytes() == content and str(path.relative_to(ROOT)) in README.read_text(encoding="utf-8"), path.name


def test_every_framework_has_its_line_and_none_has_failed():
    rows = read_results([ROOT / "results" / "coverage"]).rows
    assert {row.case.framework for row in rows} == set(BUILT_IN)
    assert {row.status for row in rows} == {"ok", "unsupported", "env_error"}
    assert {row.case.framework for row in rows if row.status == "env_error"} == {"sinabs-exodus", "rockpool-exodus"}


def test_the_kernels_example_does_what_it_says():
    (code,) = re.findall(
        r"```python\n(import torch\nfrom snnbench\.kernels.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    seen = {}
    exec(code, seen)
    assert seen["spikes"].shape == (100, 16, 10)
    assert seen["first"].spikes.mean() > 0 and seen["second"].state.shape == (16, 10)


def test_every_config_and_folder_named_exists():
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"`(configs/[a-z-]+\.toml|[a-z]+/(?:[a-z_]+/)?)`", text):
        assert (ROOT / name).exists() or name == "records/", name


if __name__ == "__main__":
    README.write_text(generated(README.read_text(encoding="utf-8")), encoding="utf-8")
    for path, content in pictures().items():
        path.write_bytes(content)
