"""The ranking tables as LaTeX."""

import re

from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from snnbench.report.files import read_results
from snnbench.report.tables.latex import latex, latex_text


def test_a_committed_set_has_a_table_for_each_group_with_its_ranks_and_intervals():
    text = latex_text(read_results([ROOT / "results" / "quickstart"]).table)
    tables = re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.DOTALL)
    assert len(tables) == 2 and text.isascii()
    for table in tables:
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", table)[1]
        lines = [line.strip() for line in table.splitlines() if line.endswith(r" \\")]
        assert lines[0].startswith(r"\# & framework & step & 95 \% interval & $\times$ best")
        assert len(lines) >= 8 and all(line.count(" & ") == len(columns) - 1 for line in lines)
        assert re.match(r"1 & fused & .* ms & .* -- .* ms & 1\.00\$\\times\$", lines[1])
        assert "unsupported" not in table and "bindsnet" not in table


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_no_text_breaks_out(text):
    written = latex(text)
    harmless = re.sub(r"\\[&%$#_{}]|\\text[a-z]+\{\}|\$(\\times|\\cdot|\\geq|-)\$", "", written)
    assert not re.search(r"[&%$#_{}\\~^]", harmless)
