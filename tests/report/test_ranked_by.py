"""Cases that another phase than the step ranks: the whole line from records to tables."""

import json

from support.synthetic import blocks, figure, ranked_by, record, table_of

from snnbench.community.bundle import results_of
from snnbench.community.site.data import data_of
from snnbench.community.site.source import Source
from snnbench.records.compare import compare_sets
from snnbench.records.ranking import contrasts_with_fastest
from snnbench.records.rows import rows_of
from snnbench.report.answer import answer, report_answer, verdict
from snnbench.report.page.page import html_text
from snnbench.report.page.still import stills
from snnbench.report.table import Table
from snnbench.report.tables.latex import latex_text
from snnbench.report.tables.markdown import markdown_text

STEPS = {"jax": 0.002, "torch": 0.004, "norse": 0.006}


def inference(alone: bool = True) -> list:
    """Three cases, ranked by inference; their steps, if there are any, are in the other order."""
    records = []
    for (name, step), other in zip(STEPS.items(), reversed(STEPS.values()), strict=True):
        for fast, slow in zip(
            blocks(name, step=step, noise=0.004), blocks(name, step=other), strict=True
        ):
            fast.parts["step"] = slow.parts["step"]
            records.append(fast)
    return ranked_by("inference", records, alone)


def test_a_phase_alone_ranks_and_so_does_one_that_is_named_before_the_step():
    for alone in (True, False):
        rows = rows_of(inference(alone))
        assert [row.case.framework for row in rows] == [*STEPS]
        assert [(row.standing.best, row.standing.worst) for row in rows] == [(1, 1), (2, 2), (3, 3)]
        assert all(row.rankable and not row.unclean for row in rows)
        assert not alone or all(row.quality == [] for row in rows)
        assert rows[1].disturbed_share == 0.0
    assert len(contrasts_with_fastest(inference())) == 2


def test_cases_that_different_phases_rank_are_never_ranked_together():
    both = rows_of(inference() + blocks("fused", step=0.001))
    assert {row.case.framework: row.standing.place for row in both} == {
        "jax": 1,
        "torch": 2,
        "norse": 3,
        "fused": 1,
    }
    titles = [title for title, _ in Table(both).comparison_groups()]
    assert [title.endswith("ranked by inference") for title in titles].count(True) == 1


def test_an_early_stop_of_the_phase_that_ranks_counts():
    stopped = record("norse", step=0.02)
    stopped.parts["inference"].timing.beyond = 2.0
    rows = rows_of([*inference()[:3], *ranked_by("inference", [stopped])])
    assert stopped.is_last and rows[-1].standing.low == 2.0 and rows[-1].standing.best == 2


def test_tables_show_the_time_that_ranks_with_its_interval():
    for alone, later in ((True, ""), (False, " step | forward | backward |")):
        text = markdown_text(table_of(inference(alone)))
        head = next(line for line in text.splitlines() if line.startswith("| #"))
        assert head.startswith("| # | framework | inference | 95 % interval | × best |" + later)
        assert "ranked by inference" in text
    table = table_of(inference())
    latex = latex_text(table)
    assert "framework & inference & 95" in latex and "ranked by inference" in latex
    hints = [metric.hint for metric in table.in_views("times")]
    assert any("ranks by inference time" in hint for hint in hints)
    assert {entry.values["ranked_by"] for entry in table.entries} == {"inference"}
    assert table.entries[0].values["roofline"] and table.entries[0].values["slots"] == 18


def test_sentences_and_values_name_the_phase():
    rows = rows_of(inference())
    opening, order, _ = answer(rows)
    assert opening.startswith("The fastest at inference is jax: 6") and "µs a call (" in opening
    assert (
        order.startswith("In order: jax; torch (2.0 times")
        and verdict(rows)["timed"] == "inference"
    )
    (sentence,) = report_answer(Table(rows))
    assert sentence.startswith("The fastest at inference is jax")
    two = inference() + ranked_by(
        "inference", [each for name in STEPS for each in blocks(name, neurons=97)]
    )
    assert "fastest inference" in " ".join(report_answer(table_of(two)))


def test_figures_and_the_page_are_of_the_phase_that_ranks():
    for alone in (True, False):
        table = table_of(inference(alone))
        winners = figure(table, "winners")
        assert winners.panels[0].where["phase"] == "inference"
        (still,) = stills(table, winners)
        assert still.lines[0][1][0]["name"] == ["jax"]
        leading = [point["leading"] for point in figure(table, "times").panels[0].points]
        assert leading == [True, False, False]
        assert figure(table, "slots").panels and figure(table, "cold-start").panels
        page = html_text(table, "mine")
        assert "are of the inference, among cases" in page and '"phase"' in page


def test_a_bundle_claims_and_a_site_shows_the_time_that_ranks():
    rows = rows_of(inference())
    claims = results_of(rows)
    assert all("inference_s" in claim and "step_s" not in claim for claim in claims)
    assert sorted(claim["rank_low"] for claim in claims) == [1, 2, 3]
    assert "step_s" in results_of(rows_of(blocks("jax")))[0]

    class Bundle:
        records, by, digest = tuple(inference()), "me", "0"
        header = {"name": "mine", "note": "", "sha256": "0", "snnbench": "0"}

    source = Source(Bundle())
    data = data_of([(source, source.rows)], {})
    (axis,) = [axis for axis in data["axes"] if axis["name"] == "ranked_by"]
    assert axis["values"] == ["inference"] and set(data["columns"]["inference"]) == {0}
    assert data["columns"]["step"] == sorted(data["columns"]["step"])
    assert json.dumps(data)


def test_a_slower_inference_and_a_lost_one_are_worse():
    base = rows_of(inference())
    slow = inference()
    for each in slow:
        if each.case["framework"] == "norse":
            for slot in each.timing("inference").slots:
                slot.wall, slot.low, slot.high = 2 * slot.wall, 2 * slot.low, 2 * slot.high
    compared = compare_sets(base, rows_of(slow))
    assert {(change.case.split()[0], change.phase) for change in compared.of("slower")} == {
        ("norse", "inference")
    }
    assert compared.shift and compared.base.blocks == (3, 3)
    lost = [each for each in inference()]
    for each in lost[:3]:
        each.parts.pop("inference")
    (finding,) = compare_sets(base, rows_of(lost)).findings
    assert (finding.what, finding.new, finding.verdict) == ("inference", "no time", "worse")


def test_with_a_batch_of_one_single_calls_have_p50_and_p99():
    def values(count, batch=1, every=0):
        records = ranked_by("inference", blocks("jax", count, batch=batch))
        for slow in records:
            for slot in slow.timing("inference").slots[:every]:
                slot.disturbed, slot.samples = "preempted", [1.0] * 8
        (entry,) = table_of(records).entries
        return [entry.values[f"latency_{name}_s"] for name in ("p50", "p99")]

    p50, p99 = values(3)
    calls = [
        seconds
        for each in ranked_by("inference", blocks("jax", 3, batch=1))
        for slot in each.timing("inference").slots
        for seconds in slot.samples
    ]
    assert len(calls) == 144 and sum(seconds <= p50 for seconds in calls) in (72, 73, 74, 75, 76)
    assert p50 < p99 <= max(calls) and sum(seconds > p99 for seconds in calls) <= 2
    assert values(2)[0] and values(2)[1] is None, "96 calls"
    assert values(4, every=1)[1] < 0.01, "disturbed slots do not count"
    assert values(3, batch=3) == [None, None]
    head = markdown_text(table_of(ranked_by("inference", blocks("jax", batch=1))))
    assert "| × best | p50 | p99 |" in head
