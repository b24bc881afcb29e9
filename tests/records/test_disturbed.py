"""On a busy machine pairs are decided by wall and CPU time together, where both show the same."""

import re
from math import exp
from random import Random

import pytest
from support.synthetic import record

from snnbench.records.ranking import blocks_to_decide_ranks
from snnbench.records.rows import rows_of
from snnbench.report.answer import answer

STEPS = {"fused": 0.010, "jax": 0.020, "spyx": 0.0203, "snntorch": 0.050}


def busy(steps, seed, count=2, cpu_of={}, threads=1, clock="process", waits=(1.3, 2.6), **measure):
    """Records of a machine on which every slot takes 1.3 to 2.6 times as long as it computes, as
    measured at a load of 7 on two cores. CPU times differ by 5 % between processes and by 3 % between slots."""
    random, records = Random(seed), []
    for block in range(count):
        for name, step in steps.items():
            made = record(name, block=block, step=step, passes=5)
            made.measure |= {"threads": threads, **measure}
            timing, process = made.timing("step"), exp(0.05 * random.gauss(0, 1))
            timing.device_clock = clock
            for slot in timing.slots:
                seconds = step * process * exp(0.03 * random.gauss(0, 1))
                slot.wall, slot.disturbed = seconds * random.uniform(*waits), "preempted"
                slot.device = cpu_of.get(name, 1.0) * seconds
            records.append(made)
    return records


def slower(records) -> dict:
    return {row.case.framework: {*row.surely_slower} for row in rows_of(records)}


def test_pairs_that_differ_by_both_clocks_are_decided():
    found = slower(busy(STEPS, seed=3, count=3))
    assert found == {
        "fused": {"jax", "spyx", "snntorch"},
        "jax": {"snntorch"},
        "spyx": {"snntorch"},
        "snntorch": set(),
    }
    rows = {row.case.framework: row for row in rows_of(busy(STEPS, seed=3, count=3))}
    assert {row.standing.note for row in rows.values()} == {""}
    standing = rows["snntorch"].standing
    assert 1.5 < standing.low < standing.ratio < standing.high and standing.high > 4
    assert all(row.unclean for row in rows.values())


def test_an_answer_promises_no_chance_of_error_for_disturbed_slots():
    text = "\n".join(answer(rows_of(busy(STEPS, seed=3, count=3))))
    assert "snntorch (" in text and "surely" not in text and "5 %" not in text
    assert re.search(r"snntorch \(\S+ times, [1-9]\S* or more\)", text), text
    assert "have too few clean slots in common with the fastest, so all slots" in text
    assert "the chance of a wrong order is then not known" in text


def test_a_row_that_most_passes_show_to_be_slower_is_named_as_such():
    text = "\n".join(
        answer(rows_of(busy({"jax": 0.01, "torch": 0.09}, seed=3, count=1, leave_beyond=2.0)))
    )
    assert (
        "most passes of one block showed torch to take 2 times the fastest's time or more" in text
    )


def test_two_copies_of_one_framework_are_never_decided():
    for seed in range(200):
        steps = {"torch": 0.02, "copy": 0.02}
        found = slower(busy(steps, seed, count=2 + seed % 3, waits=(1, 5)))
        assert found == {"torch": set(), "copy": set()}, seed


@pytest.mark.parametrize(
    "changed",
    [{"cpu_of": {"snntorch": 0.2}}, {"threads": 4}, {"clock": "events"}, {"count": 1}],
    ids=["only wall time differs", "four cores", "a GPU's clock", "one block"],
)
def test_what_one_clock_shows_alone_is_not_decided(changed):
    steps = {"fused": 0.010, "snntorch": 0.035}
    assert slower(busy(steps, seed=3, **{"count": 4, **changed}))["fused"] == set()
    assert slower(busy(steps, seed=3, count=4))["fused"] == {"snntorch"}


def test_with_early_stops_the_passes_of_one_block_decide_pairs_beyond_the_factor():
    steps, one_block = {"fused": 0.010, "torch": 0.018, "snntorch": 0.040}, {"seed": 3, "count": 1}
    assert slower(busy(steps, **one_block, leave_beyond=2.0)) == {
        "fused": {"snntorch"},
        "torch": {"snntorch"},
        "snntorch": set(),
    }
    rows = {row.case.framework: row.standing for row in rows_of(busy(steps, **one_block))}
    assert {standing.note for standing in rows.values()} == {"one block"}
    rows = rows_of(busy(steps, **one_block, leave_beyond=2.0))
    assert [(row.standing.note, row.standing.low) for row in rows] == [
        ("", None),
        ("", None),
        ("", 2.0),
    ]


def test_cpu_time_alone_decides_nothing():
    """Both wait equally long, and one of them has another process compute."""
    steps, hidden = {"torch": 0.02, "cheat": 0.02}, {"cheat": 0.1}
    assert slower(busy(steps, seed=3, count=4, cpu_of=hidden)) == {"torch": set(), "cheat": set()}


def test_decided_pairs_need_no_further_blocks():
    steps = {"fused": 0.010, "snntorch": 0.050}
    assert blocks_to_decide_ranks(busy(steps, seed=3, count=4), 4, 10) == 0
    assert blocks_to_decide_ranks(busy(STEPS, seed=3, count=1), 1, 10) > 1
