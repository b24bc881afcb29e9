"""Intervals, verdicts and ranks of live slots: golden values, simulated families, recorded
slots."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recorded import recorded
from support.slow import representatives

from snnbench.records.contrasts import (
    CROWDED,
    FAMILYWISE_ERROR,
    FIRST_LOOK,
    LAST_LOOK,
    MOST_PRIOR,
    block_contrasts,
    blocks_needed,
    blocks_to_decide,
    compared,
    holm,
    moderated,
    rank_intervals,
    surely_slower,
)

# 4 cases × 3 blocks × 4 passes: 6 % slower in the second block, one slot disturbed
MICROSECONDS = [
    [[101.0, 102.0, 100.5, 103.0], [107.2, 108.0, 106.9, 107.5], [100.8, 101.5, 102.2, 101.0]],
    [[101.5, 102.9, 100.2, 104.4], [106.1, 107.3, 105.4, 107.2], [101.4, 101.9, 102.8, 101.6]],
    [[110.9, 112.0, 110.1, 113.5], [117.5, 118.9, 117.0, 118.4], [110.2, 111.9, 112.5, np.nan]],
    [[305.0, 309.0, 301.0, 311.0], [322.0, 327.0, 320.0, 326.0], [301.0, 307.0, 306.0, 303.0]],
]
SLOTS = np.log(np.array(MICROSECONDS))
BIGGER_FIRST = [(i, j) for i in range(4) for j in range(i)]
"""The family of the golden values."""


def ranked(slots) -> list[tuple[int, int]]:
    pairs = combinations(range(len(slots)), 2)
    return rank_intervals(
        len(slots), surely_slower({(i, j): block_contrasts(slots[i], slots[j]) for i, j in pairs})
    )


def family_of(slots: np.ndarray) -> list[np.ndarray]:
    return [block_contrasts(slots[i], slots[j]) for i, j in BIGGER_FIRST]


def test_golden_family():
    found = {
        pair: comparison
        for pair, comparison in zip(BIGGER_FIRST, compared(family_of(SLOTS)), strict=True)
    }
    assert found[1, 0].ratio == pytest.approx((1.001448, 0.991726, 1.011266), abs=1e-6)
    assert found[2, 0].ratio == pytest.approx((1.099104, 1.092235, 1.106016), abs=1e-6)
    assert found[1, 0].p == pytest.approx(0.723202, abs=1e-6)
    assert ranked(SLOTS) == [(1, 2), (1, 2), (3, 3), (4, 4)]


def test_golden_variances():
    capped = moderated([1e-4, 2e-4, 4e-4, 0.5e-4], 2)
    assert (capped.prior, capped.dof) == (MOST_PRIOR, 6)
    assert capped.variances == pytest.approx([1.5833e-4, 1.9167e-4, 2.5833e-4, 1.4167e-4], rel=1e-4)
    wide = moderated([1e-6, 1e-4, 1e-2, 1e-5, 1e-3], 2)
    assert (wide.prior, wide.dof) == pytest.approx((0.61762451, 2.61762451), rel=1e-8)
    assert wide.variances[[0, 2]] == pytest.approx([5.317161e-6, 7.645068e-3], rel=1e-6)
    assert moderated([1e-4, 9e-4], 2).variances == pytest.approx([1e-4, 9e-4]), (
        "two comparisons say nothing of each other"
    )


def test_golden_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize(("comparisons", "blocks"), [(24, [2, 3, 5, 7, 12]), (8, [2, 2, 4, 6, 10])])
def test_golden_blocks_needed(comparisons, blocks):
    assert [blocks_needed(sd**2, comparisons) for sd in (0.005, 0.01, 0.015, 0.02, 0.03)] == blocks


def test_no_number_of_blocks_is_enough_for_hopeless_noise():
    assert blocks_needed(1.0, 24) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_keeps_the_order_and_never_lowers(p):
    adjusted = holm(p)
    assert (adjusted >= np.array(p)).all() and (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_what_slows_a_whole_pass_cancels_out():
    slower = SLOTS + np.log(1.2) * np.array([1, 0, 1, 1])
    for before, after in zip(family_of(SLOTS), family_of(slower), strict=True):
        assert after == pytest.approx(before, abs=1e-12)


def test_one_pass_three_times_as_long_moves_no_ratio_by_a_percent():
    hit = SLOTS.copy()
    hit[1, 2, 1] += np.log(3)
    assert block_contrasts(hit[1], hit[0]) == pytest.approx(
        block_contrasts(SLOTS[1], SLOTS[0]), abs=0.01
    )


def test_a_block_counts_if_half_of_its_passes_do():
    slots = SLOTS[2].copy()
    slots[0, :2] = np.nan
    slots[1, :3] = np.nan
    assert np.isfinite(block_contrasts(slots, SLOTS[0])).tolist() == [True, False, True]


def test_two_blocks_of_equal_times_are_surely_equal():
    (same,) = compared([np.zeros(2)])
    assert (same.ratio, same.p) == ((1, 1, 1), 1)


def test_without_two_common_blocks_nothing_is_ranked():
    assert ranked([SLOTS[0][:1], SLOTS[3][:1]]) == [(1, 2), (1, 2)]
    assert ranked([SLOTS[0]]) == [(1, 1)]


def test_comparisons_of_fewer_blocks_share_the_family_and_not_the_variances():
    """Two comparisons have three blocks, one has two of them, and one has a single block, which
    shows nothing."""
    contrasts = [
        np.array(values)
        for values in (
            [0.1, 0.11, 0.12],
            [0.1, 0.1, 0.13],
            [0.1, np.nan, 0.12],
            [np.nan, 0.5, np.nan],
        )
    ]
    three, _, two, one = compared(contrasts)
    alone = compared(contrasts[:2])
    assert (three.low, three.variance) == pytest.approx((alone[0].low, alone[0].variance))
    assert three.p == pytest.approx(2 * alone[0].p, rel=0.01) or three.p >= alone[0].p
    assert (two.estimate, two.variance) == pytest.approx((0.11, 2e-4)) and two.low < three.low
    assert (one.estimate, one.low, one.high, one.p) == (0.5, -np.inf, np.inf, 1)
    assert [shown.p for shown in compared(contrasts[:3])] == [
        three.p,
        compared(contrasts)[1].p,
        two.p,
    ]


def test_cases_that_stopped_early_do_not_raise_the_demand_on_others():
    """Eight of ten cases have one block: the other two are told apart as if they were alone."""
    stayed, left = (
        [np.log([1.58, 1.6]) + 1, np.log([1.0, 1.0]) + 1],
        [np.array([3.0 + case, np.nan]) for case in range(8)],
    )
    cases = [*stayed, *left]
    pairs = {(i, j): cases[i] - cases[j] for i, j in combinations(range(10), 2)}
    assert surely_slower(pairs) == [(0, 1)] == surely_slower({(0, 1): pairs[0, 1]})


def test_blocks_that_were_lost_are_made_up_for_where_nothing_can_be_tested():
    decided, lost = np.array([0.5, 0.51]), np.array([0.3, np.nan])
    assert blocks_to_decide([decided], 10) == 0
    assert blocks_to_decide([decided, lost], 10) == 3 and blocks_to_decide([decided, lost], 2) == 2
    assert blocks_to_decide([decided, np.full(2, np.nan)], 10) == 4
    assert blocks_to_decide([np.array([0.3])], 10) == 0, "a run of one block has one"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_ranks_follow_their_cases(order):
    assert [ranked([SLOTS[i] for i in order])[order.index(2)]] == [(3, 3)]


# -- the rate of right verdicts

RUNS = 2000


@pytest.mark.parametrize("tails", representatives(["normal", "t4"], [1]))
@pytest.mark.parametrize("blocks", representatives([3, 5], [0]))
def test_simulated_runs_hold_their_promises(tails, blocks):
    """24 cases against a best, contrasts with a spread of 1 to 2 %: coverage, false verdicts,
    power at 5 %."""
    random = np.random.default_rng(11)
    spread = 0.01 * 2 ** random.random((RUNS, 24, 1))
    shape = (RUNS, 24, blocks)
    noise = (
        random.standard_normal(shape)
        if tails == "normal"
        else random.standard_t(4, shape) / np.sqrt(2)
    )
    covered = false = 0
    for run in spread * noise:
        shown = compared(run)
        covered += sum(one.low <= 0 <= one.high for one in shown)
        false += sum(
            one.p <= FAMILYWISE_ERROR and abs(one.estimate) >= np.log(1.03) for one in shown
        )
    assert 0.93 <= covered / (24 * RUNS) <= 0.975
    assert false / (24 * RUNS) <= 0.003


def test_the_recommended_number_of_blocks_finds_five_percent():
    random = np.random.default_rng(12)
    for sd in (0.01, 0.02):
        blocks = blocks_needed(sd**2, 24)
        runs = np.log(1.05) + sd * random.standard_normal((400, 24, blocks))
        seen = [one.p <= FAMILYWISE_ERROR for run in runs for one in compared(run)]
        assert np.mean(seen) >= 0.95


def test_recorded_slots_three_blocks_of_fresh_processes():
    """Two processes of one framework are equal: few intervals miss it, no verdict is false, and
    5 % more is found."""
    slots = recorded()
    frameworks = sorted({name for name, _ in slots})
    contrasts = np.array(
        [block_contrasts(slots[name, "0"], slots[name, "1"]) for name in frameworks]
    )
    random = np.random.default_rng(13)
    covered, false, seen = [], [], []
    for _ in range(RUNS):
        picked = contrasts[:, random.choice(32, 3, replace=False)] * random.choice(
            [-1, 1], (len(frameworks), 1)
        )
        shown, planted = compared(picked), compared(picked + np.log(1.05))
        covered += [one.low <= 0 <= one.high for one in shown]
        false += [one.p <= FAMILYWISE_ERROR and abs(one.estimate) >= np.log(1.03) for one in shown]
        seen += [one.p <= FAMILYWISE_ERROR for one in planted]
    assert np.mean(covered) >= 0.93
    assert np.mean(false) <= 0.005
    assert np.mean(seen) >= 0.95


def false_verdicts(first_look: float, last_look: float) -> float:
    """Returns the share of runs of two equal cases, with 3 blocks and then up to 10, that rank
    them."""
    random, false = np.random.default_rng(14), 0
    for _ in range(1500):
        differences = 0.05 * random.standard_normal(10)
        first = [differences[:3]]
        blocks = max(blocks_to_decide(first, 10, first_look), 3)
        false += bool(surely_slower({(0, 1): differences[:blocks]}, last_look))
    return false / 1500


@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_beside_other_programs_equal_cases_are_never_decided_and_others_are(blocks):
    """Block contrasts with a standard deviation of 3 %."""
    random, counts = np.random.default_rng(44), {"equal": 0, "crowded": 0, "apart": 0}
    for _ in range(600):
        contrasts = {(0, 1): 0.03 * random.standard_normal(blocks)}
        apart = {(0, 1): contrasts[0, 1] + np.log(2.0)}
        counts["equal"] += bool(surely_slower(contrasts))
        counts["crowded"] += bool(surely_slower(contrasts, beyond=CROWDED))
        counts["apart"] += bool(surely_slower(apart, beyond=CROWDED))
    assert counts["equal"] > 10, "without the rule"
    assert counts["crowded"] <= 3
    assert counts["apart"] > (480 if blocks == 2 else 590)


def test_two_looks_keep_the_error_of_a_table():
    assert false_verdicts(FIRST_LOOK, LAST_LOOK) <= 0.055
    assert false_verdicts(FAMILYWISE_ERROR, FAMILYWISE_ERROR) >= 0.07, "without a correction"
