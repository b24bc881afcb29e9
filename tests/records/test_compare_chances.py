"""The rate of right verdicts of `compare`, on recorded slots and on simulated sets that drift."""

import numpy as np
import pytest
from support.recorded import recorded
from support.slow import representatives

from snnbench.records.changes import Pair, changes
from snnbench.records.compare import PAIRED, STORED
from snnbench.records.contrasts import block_contrasts, nanmedian
from snnbench.records.stored import BETWEEN, less_common

RUNS = 2000
BLOCKS = 3


def judged(contrasts, rule, spread=0.0):
    """Returns the verdict on each case (cases, blocks)."""
    return [
        one.verdict
        for one in changes(
            [Pair("", "step", 1.0, 1.0, one, 0.0, spread) for one in contrasts], rule
        )
    ]


def stored(ratios):
    """Returns verdicts on log ratios of block levels, new over base, of the cases of one group."""
    return judged(less_common(ratios), STORED, BETWEEN)


@pytest.fixture(scope="module")
def levels():
    """Log medians (8 cases, 32 blocks): four frameworks, two processes each."""
    return np.array([nanmedian(slots) for slots in recorded().values()])


def draws(levels, blocks):
    """Yields log ratios (8 cases, blocks) of two sets of fresh processes, each of recorded
    blocks in a row that do not overlap."""
    random = np.random.default_rng(21)
    while True:
        base, new = random.integers(0, 33 - blocks, 2)
        if abs(base - new) >= blocks:
            yield levels[:, new : new + blocks] - levels[:, base : base + blocks]


@pytest.mark.parametrize(("blocks", "same", "found"), [(3, 0.75, 0.8), (5, 0.9, 0.9)])
def test_recorded_sets(levels, blocks, same, found):
    """Equal cases never differ; a case that is slower by 15 % is mostly found, and no other one."""
    equal, others, slower = [], [], []
    for run, ratios in zip(range(RUNS // 5), draws(levels, blocks), strict=False):
        equal += stored(ratios)
        ratios[run % 8] += np.log(1.15)
        others += stored(ratios)
        slower.append(others.pop(run % 8 - 8))
    assert not {"slower", "faster"} & {*equal, *others}
    assert equal.count("same") >= same * len(equal)
    assert slower.count("slower") >= found * len(slower)


def test_a_drift_of_the_whole_machine_changes_nothing(levels):
    ratios = next(draws(levels, BLOCKS))
    assert less_common(ratios + np.log(1.2)) == pytest.approx(less_common(ratios), abs=1e-12)


@pytest.mark.parametrize("pairs", [1, 2, 3, 8, 97])
def test_what_is_common_is_the_median_of_the_others_and_of_the_own_canary(pairs):
    random = np.random.default_rng(pairs)
    ratios, canaries = random.normal(size=(2, pairs, 37)).round(1)  # many are equal
    ratios[random.random(ratios.shape) < 0.2] = canaries[random.random(ratios.shape) < 0.5] = np.nan
    canaries[::3] = np.nan
    less = less_common(ratios, canaries)
    for one in range(pairs):
        others = np.delete(ratios, one, axis=0)
        wanted = ratios[one] - nanmedian(np.vstack([others, canaries[one]]).T)
        if np.isnan(canaries[one]).all():
            wanted = ratios[one] if pairs == 1 else wanted / 2 if pairs == 2 else wanted
        assert less[one] == pytest.approx(wanted, nan_ok=True)


def test_five_percent_more_is_found_in_three_blocks_of_a_run():
    slots = recorded()
    frameworks = sorted({name for name, _ in slots})
    contrasts = np.array(
        [block_contrasts(slots[name, "0"], slots[name, "1"]) for name in frameworks]
    )
    random = np.random.default_rng(22)
    equal, slower = [], []
    for _ in range(RUNS // 4):
        picked = contrasts[:, random.choice(32, BLOCKS, replace=False)] * random.choice(
            [-1, 1], (len(frameworks), 1)
        )
        equal += judged(picked, PAIRED)
        slower += judged(picked + np.log(1.05), PAIRED)
    assert slower.count("slower") >= 0.95 * len(slower)
    assert equal.count("slower") + equal.count("faster") <= 0.003 * len(equal)
    assert equal.count("same") >= 0.95 * len(equal)


@pytest.mark.parametrize("blocks", representatives([3, 5], [0]))
def test_sets_that_drift_by_two_percent_are_not_called_changed(blocks):
    """Each set moves as a whole by 2 %, and each case by a further 1 %, which no block shows."""
    random = np.random.default_rng(23)
    for _ in range(RUNS // 2):
        drift, own = (
            0.02 * random.standard_normal(),
            np.sqrt(2) * 0.01 * random.standard_normal((8, 1)),
        )
        verdicts = stored(drift + own + 0.015 * random.standard_normal((8, blocks)))
        assert not {"slower", "faster"} & set(verdicts)


def test_an_ambiguous_time_is_decided_by_the_requested_blocks():
    """After three blocks the noise leaves open whether a time is the same."""
    random = np.random.default_rng(24)
    undecided, then = 0, []
    while undecided < 100:
        noise = 0.05 * random.standard_normal((8, 60))
        pairs = [Pair("", "step", 1.0, 1.0, one[:BLOCKS], 0.0, BETWEEN) for one in noise]
        more = [
            change.more_blocks for change in changes(pairs, STORED) if change.verdict == "ambiguous"
        ]
        if more:
            undecided += len(more)
            then += judged(noise[:, : BLOCKS + max(more)], STORED, BETWEEN)
    assert then.count("same") >= 0.9 * len(then) and "slower" not in then
