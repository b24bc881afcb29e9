"""Mistakes in the table of a neuron: all are told, and what would be right."""

import pytest

from snnbench.experiment.values import parse_neuron

FIELDS = (
    "(a neuron's fields are reset, detach_reset, decay, threshold, surrogate, slope, max_spikes, current_decay, learned_decay, "
    "adaptation, adaptation_decay, rounding, adaptation_coupling)"
)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"beta": 0.9}, f"has no field 'beta' (did you mean 'decay'?) {FIELDS}"),
        ({"treshold": 1.0}, f"has no field 'treshold' (did you mean 'threshold'?) {FIELDS}"),
        (
            {"xyz": 1.0, "decay": "fast"},
            f"has no field 'xyz'; needs a number for decay, not 'fast' {FIELDS}",
        ),
        (
            {"beta": 0.9, "reset": "hrd"},
            f"has no field 'beta' (did you mean 'decay'?); has no reset 'hrd' (did you mean 'hard'?) {FIELDS}",
        ),
        (
            {"beta": 0.9, "slope": -1},
            f"has no field 'beta' (did you mean 'decay'?); slope = -1.0 must be a positive number {FIELDS}",
        ),
        (
            {"reset": "zero"},
            "has no reset 'zero' (there are soft, hard, none, soft-undecayed, hard-straight)",
        ),
        ({"reset": []}, "needs a text for reset, not []"),
        (
            {"decay": "x", "slope": True},
            "needs a number for decay, not 'x'; needs a number for slope, not True",
        ),
    ],
)
def test_every_mistake_in_the_table_of_a_neuron_is_told(table, sentence):
    with pytest.raises(ValueError) as told:
        parse_neuron(table)
    assert str(told.value) == sentence
