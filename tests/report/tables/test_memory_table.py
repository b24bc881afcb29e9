"""The memory table in docs/kernels.md: leanest first, proved cases only, correct ratios."""

from support.memory_table import memory_text
from support.synthetic import record, unmeasured

from snnbench.records.rows import rows_of
from snnbench.report.table import Table


def weighed(framework, most, passed=True, **case):
    made = record(framework, passed=passed, reason="not the same network", **case)
    figures = {
        p: {"peak_bytes": 1 << 30, "extra_bytes": most >> i, "reserved_bytes": None}
        for i, p in enumerate(made.memory)
    }
    return made.model_copy(update={"memory": figures})


def test_rows_are_sorted_and_the_sentence_compares_with_another_framework():
    rows = [weighed("torch", 800 << 20), weighed("fused", 60 << 20), weighed("jax", 400 << 20)]
    text = memory_text(
        Table(rows_of([*rows, weighed("fused", 20 << 20, construction="linear-recompute")]))
    )
    lines = [
        line.split(" | ")[0]
        for line in text.splitlines()
        if line.startswith("| ") and ":--" not in line
    ]
    assert lines == ["| framework", "| fused:linear-recompute", "| fused", "| jax", "| torch"]
    assert "| jax | 400 MiB | 200 MiB | 100 MiB | 50.0 MiB |" in text
    assert (
        "`fused:linear-recompute` takes 20.0 MiB, 5.0% of the 400 MiB of the leanest other "
        "framework, `jax`."
    ) in text


def test_what_was_not_proved_has_a_reason_and_no_figure():
    refused = weighed("norse", 1 << 20, passed=False, status="check_failed")
    text = memory_text(
        Table(rows_of([weighed("fused", 20 << 20), refused, unmeasured("rockpool", "timeout")]))
    )
    assert (
        "* norse: check_failed: not the same network" in text
        and "* rockpool: timeout: why rockpool is timeout" in text
    )
    assert "1.00 MiB" not in text and "leanest other" not in text
