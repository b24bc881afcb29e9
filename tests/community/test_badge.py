"""The badge says what is proved, and nothing else."""

import json

import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.community.badge import badge_of, endings_in


def checked(*statuses: tuple[str, str]) -> str:
    cases = [
        {"case": {"neuron": {"reset": reset}, "precision": "fp32"}, "status": status}
        for reset, status in statuses
    ]
    return json.dumps(cases)


@pytest.mark.parametrize(
    ("statuses", "message", "colour"),
    [
        ([("soft", "ok"), ("hard", "ok")], "proved 2 neurons", "brightgreen"),
        ([("soft", "ok"), ("hard", "unsupported")], "proved 1 neuron", "brightgreen"),
        ([("soft", "ok"), ("soft", "unsupported")], "proved 1 neuron", "brightgreen"),
        ([("soft", "ok"), ("soft", "check_failed")], "0 proved, 1 failed", "red"),
        ([("soft", "unsupported"), ("hard", "env_error")], "not offered", "lightgrey"),
        ([("soft", "env_error"), ("hard", "env_error")], "not tried", "lightgrey"),
        ([("soft", "ok"), ("hard", "env_error")], "proved 1 neuron", "brightgreen"),
        ([("soft", "ok"), ("hard", "check_failed")], "1 proved, 1 failed", "red"),
        ([("soft", "crash")], "0 proved, 1 failed", "red"),
    ],
)
def test_what_it_says(statuses, message, colour):
    badge = badge_of(endings_in(checked(*statuses), "here"))
    assert badge == {"schemaVersion": 1, "label": "snnbench", "message": message, "color": colour}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[1]", '[{"case": {}, "status": "ok"}]', '[{"status": 1}]', "[" * 973]
)
def test_what_is_none_is_one_sentence(text):
    with pytest.raises(ConfigError) as told:
        endings_in(text, "file.json")
    assert str(told.value).startswith("file.json: ") and "\n" not in str(told.value)


@pytest.mark.parametrize("neuron", [{"reset": value} for value in (True, ["soft"], 3, None)] + [{}])
def test_a_neuron_without_a_known_reset_is_one_sentence(neuron):
    text = json.dumps([{"case": {"neuron": neuron, "precision": "fp32"}, "status": "ok"}])
    with pytest.raises(ConfigError) as raised:
        endings_in(text, "file.json")
    assert str(raised.value) == (
        "file.json: is not what snnbench check --json prints: 0.case.neuron: "
        f"reset = {neuron.get('reset')!r}: "
        "must be one of soft, hard, none, soft-undecayed, hard-straight"
    )


def test_one_neuron_with_other_numbers_is_one_and_another_equation_is_another():
    neurons = [
        {"reset": "soft"},
        {"reset": "soft", "decay": 0.5},
        {"reset": "soft", "adaptation": 0.1},
        None,
    ]
    cases = [
        {"case": {"neuron": neuron, "precision": "fp32"}, "status": "ok"} for neuron in neurons
    ]
    assert badge_of(endings_in(json.dumps(cases[:2]), "here"))["message"] == "proved 1 neuron"
    assert badge_of(endings_in(json.dumps(cases[:3]), "here"))["message"] == "proved 2 neurons"
    assert (
        badge_of(endings_in(json.dumps(cases[3:]), "here"))["message"] == "proved batches of data"
    )


def test_mistakes_of_the_command(snnbench):
    assert (
        snnbench("badge", "nowhere.json").message
        == "snnbench: nowhere.json: cannot be read: No such file or directory"
    )
    (snnbench.folder / "checked.json").write_text(checked(("soft", "ok")))
    ended = snnbench("badge", "checked.json", "--out", "badge.png")
    assert (ended.exit_code, ended.message) == (2, "snnbench: --out badge.png: must end with .json")
