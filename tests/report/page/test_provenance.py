"""The appendix of a report is written in words."""

import re

from support.synthetic import blocks, table_of

from snnbench.report.page.page import html_text


def test_how_it_was_measured_is_said_in_words():
    records = blocks("torch")
    for one in records:
        one.measure, one.ceilings = (
            {**one.measure, "threads": 0},
            {"flops_per_s": 1.523e11, "bytes_per_s": 7.49e10},
        )
        one.machine = {**one.machine, "container": True}
    text = " ".join(
        re.sub(
            "<script.*?</script>|<[^>]*>",
            " ",
            html_text(table_of(records), "experiment"),
            flags=re.DOTALL,
        ).split()
    )
    assert "threads all cores" in text and "container yes" in text and "True" not in text
    assert "152 GFLOP/s" in text and "74.9 GB/s" in text and "e+1" not in text
    newest = max(one.started_at for one in records)[:19].replace("T", " ")
    assert text.count(f"{newest} UTC") >= 1 and newest.replace(" ", "T") not in text
