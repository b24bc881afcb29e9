"""Forgeries of times; see `forgeries.py`."""

from .forgery import faster, forgery, slots


@forgery("statistics", "that of its")
def a_median_is_lowered(forged):
    slot = next(slot for slot in slots(forged.timed("norse")) if slot["calls"] <= 8)
    slot["wall"] = slot["low"]


@forgery("statistics", "not between its quartiles")
def a_median_below_its_quartiles(forged):
    slots(forged.timed("norse"))[0]["wall"] *= 0.5


@forgery("samples", "calls, and not")
def the_slow_calls_are_left_out(forged):
    slot = slots(forged.timed("norse"))[0]
    slot["samples"] = sorted(slot["samples"])[:-2]


@forgery("elapsed", "passed")
def a_rival_is_made_slower(forged):
    for block in range(3):
        faster(forged.timed("snntorch", block), 10)


@forgery("elapsed", "its process lived")
def a_process_that_lived_too_short(forged):
    forged.timed("norse")["duration_s"] = 0.01


@forgery("overlap", "they are timed in turns")
def timed_while_another_was(forged):
    first = forged.timed("norse")
    second = forged.timed("snntorch", neuron=first["case"]["neuron"])
    slots(first)[0]["began"] = slots(second)[0]["began"] + 1e-4


@forgery("overlap", "before the previous slot had ended")
def slots_in_another_order(forged):
    record = slots(forged.timed("norse"))
    record[0]["began"], record[1]["began"] = record[1]["began"], record[0]["began"]


@forgery("floor", "implausible")
def faster_than_the_hardware(forged):
    for block in range(3):
        faster(forged.timed("fused", block), 1e-3)


@forgery("floor", "no machine is 50 times faster")
def faster_with_a_floor_that_allows_it(forged):
    for block in range(3):
        record = forged.timed("fused", block)
        faster(record, 1e-3)
        record["parts"]["step"]["floor_s"] *= 1e-3


@forgery("floor", "no floor_s")
def faster_without_a_floor(forged):
    del forged.timed("fused")["parts"]["step"]["floor_s"]
