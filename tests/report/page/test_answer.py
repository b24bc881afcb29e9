"""The first sentences of a report say what its ranks say, and no more."""

import re

from support.synthetic import blocks, record, table_of

from snnbench.report.page.answer import NOTHING, answer
from snnbench.report.page.trust import caveats, trust


def measured(steps: dict[str, float], **fields) -> list:
    return [one for name, step in steps.items() for one in blocks(name, step=step, noise=0.005, **fields)]


def test_one_group_is_told_with_time_memory_and_the_next():
    (sentence,) = answer(table_of(measured({"jax": 0.002, "norse": 0.003})))
    pattern = r"jax is fastest at a step: 2\.\d\d ms and \d.* [KM]iB\. norse, the next, takes 1\.[45]\d times \(1\.\d+–1.*"
    assert re.fullmatch(pattern, sentence), sentence


def test_ours_is_marked_and_what_others_made_has_a_sentence_where_there_are_many_conditions():
    sizes = [one for n in (97, 193) for one in measured({"fused": 0.001, "jax": 0.002, "torch": 0.004}, neurons=n)]
    first, second = answer(table_of(sizes))
    assert first.startswith("fused (ours) is fastest at a step in all 2 conditions. The next takes ")
    assert second == "jax is fastest of the others in all 2 conditions."


def test_a_tie_is_no_victory():
    (sentence,) = answer(table_of(measured({"jax": 0.002, "torch": 0.002004, "norse": 0.003})))
    assert re.match(r"(jax and torch|torch and jax) are level at a step: ", sentence) and "; norse takes 1." in sentence
    both = [one for n in (97, 193) for one in measured({"jax": 0.002, "torch": 0.002004}, neurons=n)]
    assert answer(table_of(both))[0].endswith("In 2 the first are level, not shown to differ.")


def test_precisions_are_told_apart_and_fp32_first():
    steps = {"bf16": {"jax": 0.001, "torch": 0.002}, "fp32": {"jax": 0.004, "torch": 0.002}}
    first, second = answer(table_of([one for name, group in steps.items() for one in measured(group, precision=name)]))
    assert first.startswith("fp32: torch is fastest") and second.startswith("bf16: jax is fastest")


def test_winners_that_change_are_counted():
    jax_first = [one for n in (97, 193) for one in measured({"jax": 0.001, "torch": 0.002}, neurons=n)]
    (sentence,) = answer(table_of([*jax_first, *measured({"jax": 0.004, "torch": 0.002}, neurons=389)]))
    assert sentence.startswith("jax is fastest at a step in 2 of 3 conditions, torch in 1.")


def test_nothing_ranked_and_one_alone():
    assert answer(table_of([])) == answer(table_of([record("norse", "timeout", "no end")])) == [NOTHING]
    assert answer(table_of(blocks("torch")))[0].startswith("torch alone is ranked at a step: ")


def test_caveats_are_one_line_of_all_doubts():
    doubtful = table_of([*measured({"jax": 0.001, "torch": 0.002}, count=1), record("norse", "implausible", "too fast")])
    line = caveats(doubtful, trust(doubtful, ["x.json is no record"], []))
    assert line.startswith("2 of 3 cases ranked, each proved first; ") and "reasons to doubt: 1 implausible, " in line
    assert "one block only" in line and line.endswith("files that could not be read")
    sound = table_of(measured({"jax": 0.001, "torch": 0.002}))
    assert caveats(sound, trust(sound, [], [])).endswith("; no reason to doubt was found")
