"""The ranking tables as LaTeX."""

import re

from hypothesis import example, given
from hypothesis import strategies as st
from support.paths import committed
from support.synthetic import blocks, table_of

from snnbench.report.files import read_results
from snnbench.report.tables.latex import WRITTEN, latex, latex_text


def test_a_committed_set_has_a_table_for_each_group_with_its_ranks_and_intervals():
    text = latex_text(read_results([committed("quickstart")]).table)
    tables = re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.DOTALL)
    assert len(tables) == 2 and text.isascii()
    for table in tables:
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", table)[1]
        lines = [line.strip() for line in table.splitlines() if line.endswith(r" \\")]
        assert lines[0].startswith(r"\# & framework & step & 95 \% interval & $\times$ best")
        timed = [line for line in lines if "multicolumn" not in line]
        assert len(timed) >= 8 and all(line.count(" & ") == len(columns) - 1 for line in timed)
        assert re.match(
            r"1 & fused\\textsuperscript\{a\} & .* ms & .* -- .* ms & 1\.00\$\\times\$", lines[1]
        )
        assert "\n  \\centering\n" in table and re.search(
            r"\\label\{tab:snnbench-[12]-neuron-(soft|hard)\}", table
        )
        assert "95 \\% interval: of the geometric mean over blocks" in table


def test_a_case_without_a_time_keeps_a_line_with_the_reason_below():
    text = latex_text(read_results([committed("quickstart")]).table)
    (mark,) = re.findall(
        r" & bindsnet\\textsuperscript\{(\w)\} & \\multicolumn\{6\}\{l\}\{unsupported\}",
        text.split("end{table}")[0],
    )
    assert re.search(rf"\\textsuperscript\{{{mark}\}}~BindsNET's spikes are v", text)


def test_remarks_are_a_note_that_is_said_once():
    text = latex_text(table_of(blocks("torch", 2) + blocks("jax", 2)))
    assert text.count("~few blocks.") == 1 and text.count(r"\textsuperscript{a}") == 3
    assert "not shown to be slower than the fastest" in text and "Ranks such as 2--4" in text
    assert "≈" not in text and r"\approx" not in text  # a sign that no cell has is not explained


def test_columns_in_which_nothing_stands_are_left_out():
    text = latex_text(read_results([committed("data")]).table)
    assert (
        r"\# & framework & epoch & 95 \% interval & $\times$ best \\" in text
        and "forward" not in text
        and "memory &" not in text
    )


@given(st.text(alphabet=st.sampled_from([*WRITTEN]) | st.characters(codec="utf-8")))
@example("".join(WRITTEN))
def test_no_text_breaks_out(text):
    written = latex(text)
    harmless = re.sub(
        r"\\[&%$#_{}]|\\(text[a-z]+|ldots)\{\}|\$(\\times|\\cdot|\\geq|\\approx|-|\^\d)\$",
        "",
        written,
    )
    assert not re.search(r"[&%$#_{}\\~^]", harmless)
