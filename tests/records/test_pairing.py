"""Slots of a pass are compared if their processes were alive together, else the medians of a
block."""

from math import log

import numpy as np
import pytest
from support.synthetic import blocks, disturbed, record

from snnbench.records.pairing import contrasts, levels

SLOWER = log(1.5)


def two(**fields) -> list[list]:
    return [blocks("torch", step=0.003, **fields), blocks("jax", step=0.002, **fields)]


def in_passes(record, numbers):
    """Returns the record with its slots of these passes only."""
    timing = record.timing("step")
    timing.slots = [slot for slot in timing.slots if slot.in_pass in numbers]
    return record


def test_what_slows_a_pass_for_all_cancels_out():
    slow = two()
    for records in slow:
        for each in records:
            for slot in each.timing("step").slots[::2]:
                slot.wall *= 3
    assert contrasts(slow, "step")[0, 1] == pytest.approx([SLOWER] * 3, abs=1e-12)
    assert contrasts(slow, "step")[1, 0] == pytest.approx([-SLOWER] * 3, abs=1e-12)


@pytest.mark.parametrize("alive, shift", [("together", 0.0), (None, log(1.03 / 1.02))])
def test_slots_are_paired_only_if_their_processes_were_alive_together(alive, shift):
    """The first two passes are the quickest: without them a case's median is 1 % higher, and its
    ratio in a pass the same."""
    torch, jax = two(alive=alive, passes=5)
    torch = [in_passes(each, (2, 3, 4)) for each in torch]
    assert contrasts([torch, jax], "step")[0, 1] == pytest.approx([SLOWER + shift] * 3)


def test_of_two_live_sets_the_medians_are_compared():
    torch, jax = blocks("torch", step=0.003), blocks("jax", step=0.002, alive="later")
    disturbed(jax, every=3)
    assert contrasts([torch, jax], "step")[0, 1] == pytest.approx([SLOWER] * 3, abs=0.02)


def test_a_block_counts_if_half_of_the_shared_passes_do():
    torch, jax = two(passes=6)
    disturbed(torch[:1], every=2)
    disturbed(torch[1:2], every=1)
    disturbed(jax[2:], every=1)
    assert np.isfinite(contrasts([torch, jax], "step")[0, 1]).tolist() == [True, False, False]
    assert np.isfinite(levels([torch, jax], "step")).tolist() == [
        [True, False, True],
        [True, True, False],
    ]


def test_a_slow_case_of_three_passes_is_compared_in_these():
    torch, jax = two(passes=10)
    torch = [in_passes(each, (0, 1, 2)) for each in torch]
    assert contrasts([torch, jax], "step")[0, 1] == pytest.approx([SLOWER] * 3)


def test_two_that_share_no_pass_are_compared_through_the_third():
    """The machine was a third as fast in the later passes, which only the anchor and the second
    case have."""
    names = {"anchor": range(6), "first": range(3), "second": range(3, 6)}
    cases = [
        [in_passes(record(name, step=0.002 * (1 + place), block=b), when) for b in (0, 1)]
        for place, (name, when) in enumerate(names.items())
    ]
    for records in cases:
        for each in records:
            for slot in each.timing("step").slots:
                slot.wall *= 3 if slot.in_pass > 2 else 1
    table = contrasts(cases, "step")
    assert table[2, 1] == pytest.approx([SLOWER] * 2) and table[1, 2] == pytest.approx(
        [-SLOWER] * 2
    )
    without = contrasts(cases[1:], "step")
    assert without[1, 0] == pytest.approx([SLOWER + log(3)] * 2, abs=0.02), (
        "nothing links them: a block's medians are all there is"
    )


def test_cases_of_different_sets_have_no_contrast():
    torch, jax = two()
    for each in jax:
        each.set = "another run"
    assert np.isnan(contrasts([torch, jax], "step")[0, 1]).all()


def test_a_slot_that_was_repeated_counts_once():
    torch, jax = two()
    for each in torch:
        first = each.timing("step").slots[0]
        each.timing("step").slots.insert(
            0, first.model_copy(update={"wall": 9.0, "disturbed": "preempted"})
        )
    assert contrasts([torch, jax], "step")[0, 1] == pytest.approx([SLOWER] * 3)


def test_phases_that_were_not_timed_have_no_blocks():
    assert contrasts([[], blocks("jax")], "step").shape == (2, 2, 3) and contrasts(
        [[]], "step"
    ).shape == (1, 1, 0)
