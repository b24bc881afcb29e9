"""A comparison group in sentences: they say what the numbers say, and no more."""

import re
from types import SimpleNamespace

from support.synthetic import blocks, disturbed, record, unmeasured

from snnbench.records.rows import rows_of
from snnbench.report.answer import _inside, answer, verdict
from snnbench.report.columns.latency import single_calls

NOISE = 0.004


def told(records) -> str:
    return "\n".join(answer(rows_of(records)))


def left(framework, step):
    one = record(framework, step=step)
    one.timing("step").beyond = 2.0
    one.timing("step").slots = one.timing("step").slots[:1]
    return one


def test_what_is_decided_is_three_lines():
    records = [
        *blocks("fused", step=0.001, noise=NOISE),
        *blocks("jax", step=0.002, noise=NOISE),
        *blocks("norse", step=0.0031, noise=NOISE),
        left("rockpool", 0.05),
    ]
    fastest, order, sure, _ = answer(rows_of(records))
    assert (
        fastest.startswith("The fastest is fused (ours): 1.0")
        and " ms a step (" in fastest
        and fastest.endswith("of memory. Of the others it is jax.")
    )
    assert order == (
        "In order: fused (ours); jax (2.0 times, surely 1.9 or more); norse (3.1 times, surely 3.0 or "
        "more); rockpool (50 times, surely 2.0 or more)."
    )
    assert sure.startswith(
        "How sure: 95 % intervals over 3 blocks of fresh processes; with a fixed number of blocks"
    )
    assert sure.endswith(" All 4 were proved to compute the same network.")


def test_between_equals_nothing_is_decided_and_the_rest_is():
    steps = {"jax": 0.002, "spyx": 0.002, "torch": 0.004, "norse": 0.004}
    records = [each for name in steps for each in blocks(name, step=steps[name], noise=NOISE)]
    opening, order, *_ = answer(rows_of(records))
    assert opening.startswith("Not decided: ") and "is not shown to be faster than" in opening
    names = r"(jax|spyx)( \(1\.0 times\))? and (jax|spyx)( \(1\.0 times\))?"
    slower = r"(torch|norse) \(2\.0 times, surely \S+ or more\)"
    nothing = "with nothing decided between them"
    pattern = rf"In order: {names}, {nothing}; {slower} and {slower}, {nothing}\."
    assert re.fullmatch(pattern, order), order
    found = verdict(rows_of(records))
    assert {*found["fastest"]} == {*found["fastest_of_others"]} == {"jax", "spyx"}
    assert [{*rank} for rank in found["order"]] == [{"jax", "spyx"}, {"torch", "norse"}]
    assert found["proved"] == 4 and found["ours"] == []


def test_a_step_is_told_apart_by_the_gradient_of_its_input():
    asked, spared = (told(blocks("torch", input_grad=asked)) for asked in (True, False))
    assert "A step includes the gradient of the input, as a layer inside a network does" in asked
    assert "A step includes no gradient of the input, which training a network does not" in spared


def test_a_pair_in_the_middle_is_decided_though_its_neighbours_are_not():
    """Only jax and norse are shown to differ: the others have one block."""
    steps = {"jax": 0.002, "torch": 0.0025, "norse": 0.003}
    records = [each for name in steps for each in blocks(name, step=steps[name], noise=NOISE)]
    records = [each for each in records if each.case["framework"] != "torch" or not each.block]
    _, order, *_ = answer(rows_of(records))
    assert order.endswith("From jax to norse: jax is ahead of norse; nothing else is decided.")


def test_what_is_decided_in_a_tangle_is_told_by_where_it_begins():
    names = ("jax", "spyx", "torch", "norse", "sinabs")
    rows = [
        SimpleNamespace(case=SimpleNamespace(framework_variant=name), surely_slower=())
        for name in names
    ]
    rows[0].surely_slower, rows[1].surely_slower = names[:1:-1], names[3:]
    assert _inside(rows) == (
        "From jax to sinabs: jax is ahead of torch and all behind it; spyx is ahead of norse and "
        "sinabs; nothing else is decided."
    )
    assert _inside(rows[2:]) == ""


def test_the_fastest_of_the_others_is_named_as_far_as_it_is_decided():
    steps = {"fused": 0.001, "jax": 0.002, "spyx": 0.002, "torch": 0.004}

    def opening(*names):
        records = [each for name in names for each in blocks(name, step=steps[name], noise=NOISE)]
        return answer(rows_of(records))[0]

    assert re.search(
        r"Of the others it is not decided between (jax and spyx|spyx and jax)\.$", opening(*steps)
    )
    assert opening("fused", "jax", "spyx").endswith("Of the others it is not decided.")
    assert "others" not in opening("jax", "torch")


def test_the_leanest_is_named_only_of_figures_with_the_same_meaning():
    def weighing(framework, step, size):
        records = blocks(framework, step=step, noise=NOISE)
        records[0].memory = {"step": {**records[0].memory["step"], "peak_bytes": size}}
        return records

    torch, lean = weighing("torch", 0.002, 4 << 20), weighing("norse", 0.003, 1 << 20)
    assert "norse needs the least memory: 1.00 MiB." in told([*torch, *lean])
    assert "least memory" not in told([*torch, *weighing("jax", 0.003, 1 << 20)]), (
        "XLA's is another quantity"
    )


def test_where_nothing_is_known_it_says_so():
    busy = [*disturbed(blocks("torch"), every=1), *disturbed(blocks("norse", step=0.008), every=1)]
    assert "How sure: not at all (too many disturbed slots)." in told(busy)
    assert "In order" not in told(busy) and " ms a step beside other programs, with " in told(busy)
    once = [*blocks("torch", count=1), *blocks("norse", count=1, step=0.00781)]
    assert " (2.0 times as long)." in told(once), "no digit that nothing supports"
    assert "no other case to compare it with" in told(blocks("torch"))
    assert told([]) == "Nothing could be ranked; no framework was measured."


def test_missing_cases_are_named_with_the_reason_and_the_load():
    late = record("norse", "timeout", "no end after 120 s, stopped in part 'proof'")
    late.monitor, late.machine = {"load_average": 15.23}, {**late.machine, "usable_threads": 2}
    died = unmeasured("jax", "crash")
    cannot = [unmeasured(name, "unsupported") for name in ("sinabs", "lava-dl")]
    *_, missing, unsupported = answer(rows_of([*blocks("torch"), late, died, *cannot]))
    assert set(missing.removeprefix("Missing: ").removesuffix(".").split("; ")) == {
        (
            "norse (timeout: no end after 120 s, stopped in part 'proof', at a load of 15.2 on 2 "
            "cores)"
        ),
        "jax (crash: why jax is crash)",
    }
    assert unsupported == "Unsupported by lava-dl, sinabs; the table says why."
    assert answer(rows_of([died]))[1:] == ["Missing: jax (crash: why jax is crash)."]
    assert "Missing" not in told(blocks("torch")) and "Unsupported" not in told(blocks("torch"))
    late = [record(name, "timeout", "no end after 120 s") for name in ("norse", "torch")]
    (told_once,) = (text for text in answer(rows_of(late)) if text.startswith("Missing: "))
    assert told_once == "Missing: norse and torch (timeout: no end after 120 s)."
    cut_short = [unmeasured(name, "interrupted") for name in ("norse", "torch")]
    assert answer(rows_of(cut_short)) == ["Nothing could be ranked; the table has the reasons."]


def test_how_sure_rests_on_what_decided():
    stopped = [*blocks("fused", step=0.001, noise=NOISE), left("rockpool", 0.05)]
    (sure,) = (text for text in answer(rows_of(stopped)) if text.startswith("How sure: "))
    assert sure == (
        "How sure: rockpool was stopped in the first block, where most passes showed 2 times the "
        "fastest's time or more. Both were proved to compute the same network."
    )
    more = told([*stopped, *blocks("jax", step=0.002, noise=NOISE)])
    assert "How sure: 95 % intervals over 3 blocks" in more and "; rockpool was stopped in" in more


def test_single_calls_are_of_the_blocks_whose_time_counts_and_p99_has_its_reason():
    records = blocks("torch", batch=1, count=2)
    busy, quiet = records
    for slot in busy.timing("step").slots[1:]:
        slot.disturbed, slot.wall = "preempted", 3 * slot.wall
    (row,) = rows_of(records)
    assert len(single_calls(row)) == len(quiet.timing("step").slots) * 8 == 48
    sentence = "p99 of single calls needs 100 recorded ones; torch has 48, and more blocks record"
    assert sentence in told(records) and "p99" not in told(blocks("torch", batch=1))
    assert "p99" not in told(blocks("torch", count=2))
    assert single_calls(rows_of(disturbed(blocks("torch", batch=1), every=1))[0]) == []
