"""The first sentences of a report say what its ranks say, and no more."""

import re

from support.paths import committed
from support.recordings import data_case
from support.synthetic import blocks, disturbed, figure, record, table_of

from snnbench.report.answer import NATIVE, NOTHING, report_answer
from snnbench.report.columns.metric import SUMMARY
from snnbench.report.files import read_results
from snnbench.report.page.trust import caveats, header, trust
from snnbench.report.words import remarks_on


def measured(steps: dict[str, float], **fields) -> list:
    return [
        one
        for name, step in steps.items()
        for one in blocks(name, step=step, noise=0.005, **fields)
    ]


def test_one_group_is_told_with_time_memory_and_the_next():
    (sentence,) = report_answer(table_of(measured({"jax": 0.002, "norse": 0.003})))
    pattern = (
        r"The fastest is jax: 2\.\d\d ms a step \(.*\), with \d.* [KM]iB of memory\. norse is "
        r"next, at 1\.[45]\d times \(1.*"
    )
    assert re.fullmatch(pattern, sentence), sentence


def test_our_loading_of_data_is_ours():
    axes = {
        name: value
        for name, value in vars(data_case("frames", "packed")).items()
        if name != "framework"
    }
    (first, *_) = report_answer(
        table_of([*blocks("frames", step=0.001, **axes), *blocks("tonic", step=0.004, **axes)])
    )
    assert first.startswith("The fastest is frames:packed (ours): 1.0")


def test_ours_is_marked_and_what_others_made_has_a_sentence_where_there_are_many_conditions():
    sizes = [
        one
        for n in (97, 193)
        for one in measured({"fused": 0.001, "jax": 0.002, "torch": 0.004}, neurons=n)
    ]
    first, second = report_answer(table_of(sizes))
    assert first.startswith("fused (ours) has the fastest step in both conditions. The next takes ")
    assert second == "jax has the fastest step of the others in both conditions."


def test_how_far_the_next_is_behind_is_no_interval():
    sizes = [
        one
        for n, jax in ((97, 0.002), (193, 0.003))
        for one in measured({"fused": 0.001, "jax": jax}, neurons=n)
    ]
    (first, _) = report_answer(table_of(sizes))
    assert re.search(
        r"The next takes from (1\.9|2\.0)\d times as long, in one condition, to (2\.9|3\.0)\d, in another\.$",
        first,
    ), first


def test_a_tie_is_no_victory():
    (sentence,) = report_answer(
        table_of(measured({"jax": 0.002, "torch": 0.002004, "norse": 0.003}))
    )
    assert re.match(
        (
            r"Not decided: (jax|torch) took .* is not shown to be faster than (jax|torch) "
            r"\([\d.–() ]+ times"
        ),
        sentence,
    )
    assert "norse is next, at 1." in sentence
    both = [
        one for n in (97, 193) for one in measured({"jax": 0.002, "torch": 0.002004}, neurons=n)
    ]
    first, level = report_answer(table_of(both))
    assert first == "The fastest step is undecided in both conditions."
    assert level == "Not shown to be slower than the first: jax in 2, torch in 2."
    six = dict.fromkeys(("jax", "torch", "norse", "spyx", "sinabs", "snntorch"), 0.002)
    _, level = report_answer(table_of([one for n in (97, 193) for one in measured(six, neurons=n)]))
    assert level.count(" in 2") == 4 and level.endswith(", 2 more.")


def test_native_neurons_are_no_reason_to_doubt():
    table = read_results([committed("natives")]).table
    assert report_answer(table) == [NATIVE]
    assert not [
        one
        for one in trust(table, [], [])
        if one["kind"] == "doubt" and one["brief"] == "nothing is ranked"
    ]


def test_one_block_decides_nothing_however_far_the_medians_are_apart():
    (sentence,) = report_answer(table_of(measured({"jax": 0.002, "torch": 2.0}, count=1)))
    assert sentence.startswith("Not decided: jax took 2.") and "level" not in sentence
    assert sentence.endswith("Nothing is decided here (one block).")
    assert re.search(r"torch \((9\d\d|1,\d\d\d) times as long\)", sentence)


def test_what_is_decided_is_counted_apart_from_what_is_not():
    clear = measured({"spyx": 0.001, "torch": 0.002}, neurons=97)
    level = [
        one for n in (193, 389) for one in measured({"spyx": 0.002004, "torch": 0.002}, neurons=n)
    ]
    (sentence,) = report_answer(table_of([*clear, *level, *measured({"jax": 0.001}, neurons=31)]))
    counted = (
        "spyx has the fastest step in 1 of 4 conditions; 2 are undecided; only one case is ranked "
        "in 1. The next takes "
    )
    assert sentence.startswith(counted)


def test_the_first_of_the_others_is_named_only_where_it_is_decided():
    steps = {"fused": 0.001, "jax": 0.002, "torch": 0.002004}
    first, others = report_answer(
        table_of([one for n in (97, 193) for one in measured(steps, neurons=n)])
    )
    assert first.startswith("fused (ours) has the fastest step in both conditions") and others == (
        "The fastest step of the others is undecided in both conditions."
    )


def test_where_no_slot_was_clean_it_says_what_is_shown():
    busy = table_of([one for name in ("jax", "torch") for one in disturbed(blocks(name), every=1)])
    said = [sentence["text"] for sentence in trust(busy, [], [])]
    assert any(
        text.startswith("2 ranked rows with no clean slot: shown from disturbed ones")
        for text in said
    )
    assert not any("they do not count" in text and "but where" not in text for text in said)
    assert not any("decides no rank" in text for text in said), "both clocks may decide"
    walls = [p for p in figure(busy, "slots").panels if p.title.endswith("wall time")]
    for panel in walls:
        assert panel.notes == ["No clean slot: shown from disturbed ones."]
    calm = table_of(blocks("jax"))
    assert not any(panel.notes for panel in figure(calm, "slots").panels)
    assert "they count only where a note says so" in figure(calm, "slots").text
    assert "of disturbed slots, has no line" in figure(busy, "times").text
    assert all(
        remarks_on(row).endswith("no clean slot: shown from disturbed ones") for row in busy.rows
    )


def test_precisions_are_told_apart_and_fp32_first():
    steps = {"bf16": {"jax": 0.001, "torch": 0.002}, "fp32": {"jax": 0.004, "torch": 0.002}}
    first, second = report_answer(
        table_of([one for name, group in steps.items() for one in measured(group, precision=name)])
    )
    assert first.startswith("fp32: The fastest is torch") and second.startswith(
        "bf16: The fastest is jax"
    )


def test_winners_that_change_are_counted():
    jax_first = [
        one for n in (97, 193) for one in measured({"jax": 0.001, "torch": 0.002}, neurons=n)
    ]
    (sentence,) = report_answer(
        table_of([*jax_first, *measured({"jax": 0.004, "torch": 0.002}, neurons=389)])
    )
    assert sentence.startswith("jax has the fastest step in 2 of 3 conditions, torch in 1.")


def test_nothing_ranked_and_one_alone():
    assert (
        report_answer(table_of([]))
        == report_answer(table_of([record("norse", "timeout", "no end")]))
        == [NOTHING]
    )
    assert report_answer(table_of(blocks("torch")))[0].startswith("torch is the only ranked case: ")


def test_planned_cases_without_a_record_are_cases_too():
    table, missing = table_of(measured({"jax": 0.001, "torch": 0.002})), ["norse", "spyx", "sinabs"]
    sentences = trust(table, [], missing)
    assert sentences[0]["text"].startswith("2 of 5 cases ranked.")
    assert caveats(table, sentences, missing).startswith(
        "2 of 5 cases ranked, each"
    ) and "3 without a record" in caveats(table, sentences, missing)
    assert header(table, missing)["cases"] == 5


def test_the_memory_of_the_first_sentence_is_that_of_the_ranking_tables():
    table = table_of(measured({"jax": 0.002, "norse": 0.003}))
    best = next(entry for entry in table.entries if entry.variant == "jax")
    (shown,) = [metric for metric in table.in_views(SUMMARY) if metric.head == "memory"]
    assert f"with {shown.text(best)} of memory" in report_answer(table)[0]


def test_caveats_are_one_line_of_all_doubts():
    doubtful = table_of(
        [
            *measured({"jax": 0.001, "torch": 0.002}, count=1),
            record("norse", "implausible", "too fast"),
        ]
    )
    line = caveats(doubtful, trust(doubtful, ["x.json is no record"], []))
    assert (
        line.startswith("2 of 3 cases ranked, each proved first; ")
        and "reasons to doubt: 1 implausible, " in line
    )
    assert "one block only" in line and line.endswith("files that could not be read")
    sound = table_of(measured({"jax": 0.001, "torch": 0.002}))
    assert caveats(sound, trust(sound, [], [])).endswith("; no reason to doubt was found")
