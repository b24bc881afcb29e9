"""`snnbench.compare`: comparisons of the command line, in Python."""

import pytest
from support.paths import committed

import snnbench as own

SET = committed("quickstart")


def test_it_says_what_the_command_line_says(snnbench):
    compared = own.compare(SET, pair=("torch", "fused"))
    ended = snnbench("compare", SET, "--pair", "torch", "fused", "--format", "markdown")
    assert f"{compared!r}" == compared._repr_markdown_() == ended.stdout
    assert ended.stdout.startswith("| case | what | torch | fused | verdict |")
    assert {change.verdict for change in compared.changes} == {"faster", "unsure"}
    assert not compared.worse and compared.undecided and compared.findings == []
    assert compared.sentences[0].startswith("2 cases in both")


def test_the_slower_variant_is_worse_and_results_are_a_set():
    assert own.compare(own.load(SET), pair=("fused", "torch")).worse
    assert not own.compare(own.load(SET), SET).worse


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: own.compare(SET), "compare(): needs either a second set, or pair="),
        (lambda: own.compare(SET, SET, pair=("a", "b")), "compare(): needs either a second set"),
        (lambda: own.compare(SET, pair=("torch", "fuzed")), "--pair torch fuzed: there is no"),
        (lambda: own.compare("nowhere", SET), "nowhere: there is no such folder"),
    ],
)
def test_a_mistake_is_one_sentence(call, sentence):
    with pytest.raises(own.ConfigError) as caught:
        call()
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
