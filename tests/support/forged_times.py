"""What forgers do to times; see `forgeries.py`."""

from .forgery import claim_anew, faster, forgery, slots


@forgery("statistics", "that of its")
def a_median_is_lowered(forged):
    slot = next(slot for slot in slots(forged.timed("norse")) if slot["calls"] <= 8)
    slot["wall"] = slot["low"]


@forgery("statistics", "not between its quartiles")
def a_median_below_its_quartiles(forged):
    slots(forged.timed("norse"))[0]["wall"] *= 0.5


@forgery("statistics", "are above their slots' medians")
def medians_lowered_where_calls_are_many(forged):
    for record in forged.records:
        for part in record.get("parts", {}).values():
            for slot in part.get("timing", {}).get("slots", []):
                if slot["calls"] > 8:
                    for name in ("low", "wall", "high", "enqueue"):
                        slot[name] = round(0.5 * slot[name], 9)


@forgery("samples", "calls, and not")
def the_slow_calls_are_left_out(forged):
    slot = slots(forged.timed("norse"))[0]
    slot["samples"] = sorted(slot["samples"])[:-2]


@forgery("samples", "calls took exactly 0.005000000 s")
def one_call_stands_for_all(forged):
    for slot in slots(forged.timed("norse")):
        slot["samples"] = [0.005] * len(slot["samples"])
        slot |= {"low": 0.005, "wall": 0.005, "high": 0.005}


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


@forgery("overlap", "in front of it")
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


@forgery("unfilled", "at least 20% is plausible")
def one_framework_is_nine_times_as_fast(forged):
    _one_framework_is_faster(forged, 0.11)


@forgery("unfilled", "beside what others prepare")
def one_framework_is_six_times_as_fast(forged):
    """Its calls fill as much as the fastest ones honestly may; beside the others they do not."""
    _one_framework_is_faster(forged, 0.17)


def _one_framework_is_faster(forged, factor):
    """Every call of one framework and everything that follows from it, claims included; only the harness's clock is left."""
    for record in forged.records:
        if (record["case"]["framework"], record["case"]["neuron"]["reset"]) == ("norse", "soft"):
            for phase, part in record["parts"].items():
                if "timing" in part:
                    faster(record, factor, phase)
    claim_anew(forged)
