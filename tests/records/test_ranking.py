"""Times, ratios and ranks of a comparison group: decided ones, ties, and notes where nothing is
known."""

import csv

import pytest
from support.paths import GOLDEN, committed
from support.synthetic import blocks, disturbed, record, table_of

from snnbench.records.bundle import BundleFile
from snnbench.records.ranking import contrasts_with_fastest
from snnbench.records.rows import Row, rows_of

NOISE = 0.005


def standings(records) -> dict:
    return {row.case.framework: row.standing for row in rows_of(records)}


def group(noise=NOISE, **fields) -> list:
    """Four cases: one is 40 % faster, two are practically equal, and one is slow."""
    steps = {"jax": 0.0020, "torch": 0.0028, "norse": 0.00281, "snntorch": 0.0040}
    return [
        one
        for name, step in steps.items()
        for one in blocks(name, step=step, noise=noise, **fields)
    ]


def test_ranks_are_intervals_and_equal_cases_share_theirs():
    found = standings(group())
    assert {name: (one.best, one.worst) for name, one in found.items()} == {
        "jax": (1, 1),
        "torch": (2, 3),
        "norse": (2, 3),
        "snntorch": (4, 4),
    }
    assert not any(one.tied for one in found.values())


def test_a_case_that_is_not_surely_slower_than_the_best_is_tied_with_it():
    found = standings([one for one in group() if one.case["framework"] != "jax"])
    assert {name: one.tied for name, one in found.items()} == {
        "torch": True,
        "norse": True,
        "snntorch": False,
    }
    rows = {row.case.framework: row for row in rows_of(group())}
    assert {*rows["jax"].surely_slower} == {"torch", "norse", "snntorch"} and rows[
        "snntorch"
    ].surely_slower == ()


def test_a_ratio_lies_in_its_interval_and_the_fastest_has_none():
    found = standings(group())
    assert (found["jax"].place, found["jax"].ratio, found["jax"].low, found["jax"].p) == (
        1,
        1.0,
        None,
        None,
    )
    for name, ratio in (("torch", 1.4), ("norse", 1.405), ("snntorch", 2.0)):
        one = found[name]
        assert (
            one.low < one.ratio < one.high
            and one.ratio == pytest.approx(ratio, rel=0.02)
            and one.p < 0.05
        )


@pytest.mark.parametrize("name", ["networks", "training"])
def test_no_case_is_behind_the_best_while_the_interval_of_the_ratio_holds_1(name):
    """Ratios of all tables are one family and ranks of one table another, with other shrunk
    variances."""
    rows = rows_of(BundleFile(committed(name)).read_records()[0])
    behind = [
        row.standing
        for row in rows
        if row.standing and row.standing.best > 1 and row.standing.low is not None
    ]
    assert len(behind) > 5 and [one for one in behind if one.low <= 1] == []


@pytest.mark.parametrize(
    ("foreign_cores", "load", "threads", "decided"),
    [
        (0.9, 9.0, 1, True),
        (1.1, 0.1, 1, False),
        (0.2, 0.1, 2, True),
        (0.3, 0.1, 2, False),
        (None, 1.9, 1, True),
        (None, 2.1, 1, False),
        (None, None, 1, True),
    ],
)
def test_beside_programs_that_need_the_same_cores_small_differences_are_not_decided(
    foreign_cores, load, threads, decided
):
    """On two cores. Differences of 40 % are decided all the same. A worker that was killed leaves
    the CPU time of other programs unknown; the load tells then."""
    records = [
        one
        for name, step in {"jax": 0.0020, "torch": 0.0028, "norse": 0.00289}.items()
        for one in blocks(name, step=step, noise=NOISE)
    ]
    for one in records:
        one.measure["threads"] = threads
        one.monitor |= {"foreign_cores": foreign_cores, "load_average": load}
    slower = {row.case.framework: {*row.surely_slower} for row in rows_of(records)}
    assert slower["jax"] == {"torch", "norse"}
    assert slower["torch"] == ({"norse"} if decided else set())


def test_a_time_lies_in_its_interval_and_holds_what_slowed_all():
    for row in rows_of(group()):
        step = row.estimates["step"]
        assert step.low < step.seconds < step.high
    drifting = rows_of(
        [
            one
            for number in range(3)
            for one in (record("jax", block=number, step=0.002 * (1 + 0.2 * number)),)
        ]
    )
    assert drifting[0].estimates["step"].high > 1.2 * drifting[0].estimates["step"].seconds


def test_with_one_block_nothing_is_decided_and_it_says_why():
    found = standings(group(count=1))
    assert {(one.best, one.worst, one.note, one.high, one.p) for one in found.values()} == {
        (1, 4, "one block", None, None)
    }
    assert [one.place for one in found.values()] == [1, 2, 3, 4]
    (row,) = rows_of([record("jax")])
    assert (row.estimates["step"].low, row.standing.note) == (None, ""), (
        "a case that is alone has no rank"
    )


def test_times_of_different_runs_are_shown_and_not_ranked():
    records = group()
    for one in records:
        one.set = one.case["framework"]
    found = standings(records)
    assert {(one.best, one.worst, one.note) for one in found.values()} == {
        (1, 4, "not measured together")
    }
    assert found["snntorch"].ratio == pytest.approx(2, rel=0.02)


def test_slots_that_were_all_disturbed_give_a_time_and_no_rank():
    found = rows_of(disturbed(group(), every=1))
    assert {row.standing.note for row in found} == {"too many disturbed slots"}
    assert all(row.estimates["step"].low is None and row.disturbed_share == 1 for row in found)


def test_where_too_few_slots_were_clean_order_and_ratio_are_of_all_slots_pass_by_pass():
    """Of jax only the first, calm block is clean: its time is of that block, torch's of all
    three."""
    made = []
    for number, slow in enumerate((1.0, 4.0, 6.0)):
        for name, step in (("jax", 0.003), ("torch", 0.002)):
            made.append(record(name, block=number, step=step * slow))
            for slot in made[-1].timing("step").slots if (name, number) != ("jax", 0) else ():
                slot.disturbed = "preempted"
    rows = {row.case.framework: row for row in rows_of(made)}
    assert rows["jax"].estimates["step"].seconds < rows["torch"].estimates["step"].seconds
    assert {name: row.standing.place for name, row in rows.items()} == {"torch": 1, "jax": 2}
    assert rows["jax"].standing.ratio == pytest.approx(1.5) and rows["jax"].standing.tied
    table = table_of(made)
    jax, torch = (
        next(one for one in table.entries if one.variant == name) for name in ("jax", "torch")
    )
    assert table.compared("step", torch, [jax])[0].ratio[0] == pytest.approx(1.5)


def test_disturbed_slots_change_no_time():
    clean, spoilt = rows_of(group(noise=0.0)), rows_of(disturbed(group(noise=0.0), every=4))
    for one, other in zip(clean, spoilt, strict=True):
        assert other.estimates["step"].seconds == pytest.approx(
            one.estimates["step"].seconds, rel=0.02
        )
        assert other.standing.ratio == pytest.approx(one.standing.ratio, rel=1e-9)


def test_the_wall_time_alone_is_made_as_the_published_one():
    for row in rows_of(group()):
        assert row.median("step", "wall") == pytest.approx(row.estimates["step"].seconds, rel=1e-4)
        assert Row(row.case, row.records[:1]).median("step", "enqueue") == pytest.approx(
            0.5 * Row(row.case, row.records[:1]).median("step", "wall")
        )


def test_contrasts_with_fastest_tell_how_many_blocks_a_group_needs():
    found = contrasts_with_fastest(group())
    assert [len(one) for one in found] == [3, 3, 3] and all((one > 0.3).all() for one in found)
    assert contrasts_with_fastest([record("jax")]) == []


def recorded(first: int) -> list:
    """Three blocks of four frameworks, two processes each, timed on a quiet machine (N = 64, T =
    25)."""
    records = {}
    for row in csv.DictReader((GOLDEN / "quiet_blocks.csv").open()):
        block = int(row["block"]) - first
        if block in range(3):
            mode = "eager" if row["copy"] == "0" else "compile"
            key = row["framework"], mode, block
            one = records.setdefault(
                key, record(row["framework"], block=block, mode=mode, passes=10)
            )
            one.timing("step").slots[int(row["pass"])].wall = 1e-6 * float(row["median_us"])
    return list(records.values())


@pytest.mark.parametrize("first", [0, 9, 18, 27])
def test_on_recorded_slots_processes_of_one_framework_share_their_ranks(first):
    ranks = {
        (row.case.framework, row.case.mode): (row.standing.best, row.standing.worst)
        for row in rows_of(recorded(first))
    }
    for place, name in enumerate(("jax", "fused", "torch", "norse")):
        assert ranks[name, "eager"] == ranks[name, "compile"] == (2 * place + 1, 2 * place + 2), (
            ranks
        )


def with_one_that_left(step, bound=2.0) -> list:
    (left,) = blocks("rockpool", 1, step=step)
    left.timing("step").beyond = bound
    left.timing("step").slots = left.timing("step").slots[:1]
    return [*group(), left]


def test_a_stopped_case_is_slower_than_all_that_its_passes_show_to_be_faster_by_its_bound():
    found = standings(with_one_that_left(step=0.011))
    places = [(found[name].best, found[name].worst) for name in ("snntorch", "rockpool")]
    assert places == [(4, 4), (5, 5)]


def test_a_stopped_case_is_slower_than_all_that_are_surely_within_its_bound():
    found = standings(with_one_that_left(step=0.007))
    assert {name: (one.best, one.worst) for name, one in found.items()} == {
        "jax": (1, 1),
        "torch": (2, 3),
        "norse": (2, 3),
        "snntorch": (4, 5),  # twice as slow as the fastest: it may be slower than the bound
        "rockpool": (4, 5),
    }
    left = found["rockpool"]
    assert left.ratio == pytest.approx(3.5, rel=0.02) and (left.low, left.high, left.p) == (
        2.0,
        None,
        None,
    )


def test_if_all_others_stopped_nothing_is_undecided():
    (left,) = [one for one in with_one_that_left(step=0.011) if one.case["framework"] == "rockpool"]
    found = standings([*blocks("jax", 2, step=0.002), left])
    assert {name: (one.best, one.worst, one.note) for name, one in found.items()} == {
        "jax": (1, 1, ""),
        "rockpool": (2, 2, ""),
    }


def test_others_have_the_same_intervals_with_and_without_a_stopped_case():
    with_it, without = standings(with_one_that_left(step=0.011)), standings(group())
    assert all(
        (with_it[name].low, with_it[name].high) == (one.low, one.high)
        for name, one in without.items()
    )
