"""Who leaves after a pass: only who is shown to be slow by slots that nothing disturbed."""

from snnbench.records.leaving import beyond


def slot(wall, spread=0.1, disturbed=None):
    return {"low": wall * (1 - spread), "wall": wall, "high": wall * (1 + spread), "disturbed": disturbed}


def test_who_is_shown_to_be_beyond_leaves_and_who_may_not_be_stays():
    slots = {"best": slot(1.0), "near": slot(1.9), "open": slot(2.3), "slow": slot(2.5), "slowest": slot(40.0)}
    assert beyond(slots, 2.0) == ["slow", "slowest"]
    assert beyond(slots, 10.0) == ["slowest"]


def test_a_disturbed_slot_shows_nothing_of_who_had_it_nor_of_others():
    assert beyond({"best": slot(1.0), "slow": slot(9.0, disturbed="preempted")}, 2.0) == []
    assert beyond({"best": slot(1.0, disturbed="preempted"), "slow": slot(9.0), "slower": slot(12.0)}, 2.0) == []
    assert beyond({}, 2.0) == [] == beyond({"alone": slot(1.0)}, 2.0)
