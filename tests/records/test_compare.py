"""`compare` notices every change for the worse, on one machine and across machines, and no
others."""

from math import log

import pytest
from support.synthetic import NOISE, blocks, disturbed, unmeasured

from snnbench.common.mistakes import ConfigError
from snnbench.core.case import USUAL_PHASES
from snnbench.records.compare import compare_sets, compare_variants
from snnbench.records.rows import rows_of

STEPS = {"jax": 0.002, "torch": 0.004, "norse": 0.008, "spyx": 0.003}


def records(speed=1.0, machine="m1", without=(), count=3, noise=0.0, canary=1.0, **changed):
    """Returns records of four frameworks; `changed` is a factor on a framework's time, `canary`
    on the canary's."""
    made = []
    for name, step in STEPS.items():
        if name not in without:
            slow = step * speed * changed.get(name, 1.0)
            made += blocks(name, count, step=slow, neurons=97, machine=machine, noise=noise)
    for one in made:
        one.monitor["canary"] = [seconds * canary for seconds in one.monitor["canary"]]
    return made


def before(**fields):
    """Returns records of the base; only they have noise, so it is that of the contrasts."""
    return records(noise=NOISE, **fields)


def compared(base, new, **options):
    return compare_sets(rows_of(base), rows_of(new), **options)


def verdicts(comparison):
    """Returns (framework, phase) by verdict."""
    found = {}
    for one in comparison.changes:
        found.setdefault(one.verdict, set()).add((one.case.split()[0], one.phase))
    return found


def findings(comparison):
    return {(one.case.split()[0], one.what, one.verdict) for one in comparison.findings}


def phases(*names):
    return {(name, phase) for name in names for phase in USUAL_PHASES}


def test_the_same_again_is_the_same_in_every_phase():
    comparison = compared(before(), records())
    assert verdicts(comparison) == {"same": phases(*STEPS)}
    assert (comparison.findings, comparison.doubts, comparison.worse, comparison.undecided) == (
        [],
        [],
        False,
        False,
    )
    assert (comparison.cases, comparison.timed, comparison.times) == (4, 4, "absolute")
    assert comparison.shift == pytest.approx(1.0, abs=0.005) and comparison.canary == 1.0


def test_slower_and_faster_on_the_same_machine():
    comparison = compared(before(), records(torch=1.2, jax=0.7))
    assert verdicts(comparison) == {
        "slower": phases("torch"),
        "faster": phases("jax"),
        "same": phases("norse", "spyx"),
    }
    assert verdicts(compared(before(), records(torch=1.2), factor=1.5)) == {"same": phases(*STEPS)}


def test_a_change_of_five_percent_between_sets_is_not_told():
    assert verdicts(compared(before(), records(torch=1.05))) == {"same": phases(*STEPS)}


def test_one_slow_phase_is_found():
    new = records()
    for one in new:
        if one.case["framework"] == "norse":
            for slot in one.timing("inference").slots:
                slot.wall *= 1.3
    assert verdicts(compared(before(), new))["slower"] == {("norse", "inference")}


def test_what_all_cases_have_in_common_changes_no_ratio():
    plain, shifted = (
        compared(before(), records(torch=1.2)),
        compared(before(), records(torch=1.2, speed=1.2)),
    )
    assert shifted.shift == pytest.approx(1.2 * plain.shift)
    assert verdicts(plain) == verdicts(shifted)
    for one, other in zip(plain.changes, shifted.changes, strict=True):
        assert other.ratio == pytest.approx(one.ratio, rel=0.002)


def test_a_shift_that_the_canary_does_not_show_is_doubted():
    comparison = compared(before(), records(speed=1.2))
    assert not comparison.worse and comparison.undecided
    assert comparison.doubts == ["most cases took 1.20× their time, the canary did not"]
    assert compared(before(), records(speed=1.05)).doubts == []


@pytest.mark.parametrize("factor", [None, 1.5])
def test_sets_whose_canaries_differ_are_refused(factor):
    comparison = compared(before(), records(canary=1.04, torch=2.0), factor=factor)
    assert verdicts(comparison) == {"unsure": phases(*STEPS)}
    assert comparison.doubts == ["the canary took 1.04× its time"]
    assert not comparison.worse and comparison.undecided
    assert compared(before(), records(canary=1.02)).doubts == []


def test_disturbed_sets_are_refused():
    for base, new in ((before(), busy()), (busy(), before())):
        comparison = compared(base, new)
        assert verdicts(comparison) == {"unsure": phases(*STEPS)}
        assert {one.note for one in comparison.changes} == {"disturbed"}
        assert (
            any("% of the slots" in sentence for sentence in comparison.doubts)
            and not comparison.worse
        )


def busy():
    made = records(torch=1.5)
    for phase in USUAL_PHASES:
        disturbed(made, every=3, phase=phase)
    return made


def test_a_busy_set_and_a_quiet_one_were_not_measured_alike():
    one_in_six = records()
    for phase in USUAL_PHASES:
        disturbed(one_in_six, every=6, phase=phase)
    assert compared(before(), one_in_six).doubts == [
        "17% of the slots of one were preempted, 0% of the other"
    ]
    assert compared(one_in_six, one_in_six).doubts == []


def test_two_blocks_are_too_few_but_for_a_factor_that_no_noise_reaches():
    few = records(count=2, torch=12.0)
    unsure = compared(before(), few)
    assert verdicts(unsure) == {"unsure": phases(*STEPS)}
    assert {(one.note, one.more_blocks) for one in unsure.changes} == {("few blocks", 1)}
    assert verdicts(compared(before(), few, factor=2.0)) == {"unsure": phases(*STEPS)}
    rough = compared(before(), few, factor=10.0)
    assert verdicts(rough) == {"slower": phases("torch"), "unsure": phases("jax", "norse", "spyx")}
    assert rough.worse and {one.note for one in rough.changes} == {"few blocks"}


def test_a_factor_counts_where_every_slot_was_disturbed():
    new = records(machine="m2", torch=12.0, count=1)
    for phase in USUAL_PHASES:
        for slot in (slot for one in new for slot in one.timing(phase).slots):
            slot.disturbed = "preempted"
    assert verdicts(compared(before(), new))["unsure"] == phases(*STEPS)
    rough = compared(before(), new, factor=10.0)
    assert (
        verdicts(rough)["slower"] == phases("torch") and rough.of("slower")[0].note == "disturbed"
    )


def test_a_slower_machine_is_not_a_slower_framework():
    comparison = compared(before(), records(speed=7.3, machine="m2", canary=5.0))
    assert verdicts(comparison) == {"same": phases(*STEPS)} and not comparison.undecided
    assert (comparison.timed, comparison.times, comparison.canary) == (4, "relative", None)


@pytest.mark.parametrize("machine", ["m1", "m2"])
def test_a_framework_that_falls_behind_the_others_is_found_on_any_machine(machine):
    comparison = compared(before(), records(speed=7.3, machine=machine, norse=9.0), relative=True)
    assert verdicts(comparison) == {
        "slower": phases("norse"),
        "same": phases("jax", "torch", "spyx"),
    }


def test_of_two_cases_between_machines_it_is_unknown_which_has_changed():
    two = {"without": ("norse", "spyx")}
    comparison = compared(before(**two), records(machine="m2", torch=4.0, **two))
    assert sorted({round(one.ratio, 1) for one in comparison.changes}) == [0.5, 2.0]
    assert set(verdicts(comparison)) == {"same"}
    alone = {"without": ("norse", "spyx", "jax")}
    nothing = compared(before(**alone), records(machine="m2", **alone))
    assert (nothing.changes, nothing.shift) == ([], None), (
        "what is not compared has nothing in common"
    )


def test_a_case_alone_is_compared_with_the_canary():
    alone = {"without": ("norse", "spyx", "jax")}
    assert set(verdicts(compared(before(**alone), records(torch=1.2, **alone)))) == {"slower"}
    without = records(torch=1.2, **alone)
    for one in without:
        one.monitor["canary"] = []
    comparison = compared(before(**alone), without)
    assert comparison.canary is None and set(verdicts(comparison)) == {"slower"}
    near = comparison.changes[0]
    assert log(near.high / near.low) > 0.1, "what the machine may have done is in the interval"


def test_a_time_that_is_gone_is_found():
    lost = [
        one.model_copy(update={"parts": {k: v for k, v in one.parts.items() if k != "step"}})
        for one in records()
    ]
    assert findings(compared(before(), lost)) == {(name, "step", "worse") for name in STEPS}


def test_blocks_that_disagree_are_ambiguous_and_told_how_many_more_would_decide():
    wild = records()
    for one in wild:
        if one.case["framework"] == "jax":
            for slot in one.timing("step").slots:
                slot.wall *= (0.9, 1.1, 1.3)[one.block]
    comparison = compared(before(), wild)
    (change,) = comparison.of("ambiguous")
    assert (change.case.split()[0], change.phase) == ("jax", "step")
    assert change.more_blocks >= 1 and change.note == f"{change.more_blocks} more blocks"
    assert not comparison.worse and comparison.undecided


def test_a_case_of_one_side_only_is_neither_better_nor_worse():
    comparison = compared(before(without=("spyx",)), records(without=("jax",)))
    assert (comparison.cases, findings(comparison), comparison.worse, comparison.undecided) == (
        2,
        set(),
        False,
        True,
    )
    assert [name.split()[0] for name in (*comparison.only_base, *comparison.only_new)] == [
        "jax",
        "spyx",
    ]
    more = compared(before(without=("spyx",)), records())
    assert (len(more.only_new), more.worse, more.undecided) == (1, False, False)


def test_a_case_without_the_block_with_the_proof_is_neither_better_nor_worse():
    lost = [one for one in records() if (one.case["framework"], one.block) != ("jax", 0)]
    for comparison in (compared(before(), lost), compared(lost, before())):
        assert findings(comparison) == set() and not comparison.worse
        assert {one.case.split()[0] for one in comparison.changes} == {"torch", "norse", "spyx"}


def test_a_status_and_a_proof():
    base = [*records(without=("spyx",)), unmeasured("spyx", "timeout", neurons=97)]
    new = [
        *records(without=("torch", "spyx")),
        unmeasured("torch", "oom_host", neurons=97),
        *blocks("spyx", step=0.002, neurons=97),
    ]
    assert findings(compared(base, new)) == {
        ("torch", "status", "worse"),
        ("spyx", "status", "better"),
    }
    unproved = records()
    for one in unproved:
        if one.case["framework"] == "torch":
            one.proof = None
    assert findings(compared(before(), unproved)) == {("torch", "proof", "worse")}


@pytest.mark.parametrize(
    ("kind", "words"), [("peak", "memory of step"), ("kept", "memory kept by step")]
)
def test_memory_whatever_the_machine(kind, words):
    sets = records(), records(machine="m2")
    for made, size in zip(sets, (8 << 20, 64 << 20), strict=True):
        for one in made:
            if one.case["framework"] == "torch" and one.memory:
                one.memory["step"] |= {f"{kind}_bytes": size}
                one.memory["forward"] |= {
                    "peak_bytes": one.memory["forward"]["peak_bytes"] + (size >> 14)
                }
    assert findings(compared(*sets)) == {("torch", words, "worse")}


def test_sets_of_several_machines():
    both = records() + records(machine="m2")
    assert verdicts(compared(both, both)) == {"same": phases(*STEPS)}
    with pytest.raises(ConfigError, match="the second set is of several machines"):
        compared(before(), both)


def test_two_variants_that_were_alive_together():
    rows = rows_of(before(torch=2.09))
    comparison = compare_variants(rows, "norse", "torch")
    assert verdicts(comparison) == {"slower": phases("norse")}
    assert (comparison.cases, comparison.names, comparison.shift) == (1, ("norse", "torch"), None)
    assert [one.ratio for one in comparison.changes] == pytest.approx([1.045] * 4, rel=0.005)
    assert verdicts(compare_variants(rows, "torch", "norse")) == {"faster": phases("torch")}
    assert set(verdicts(compare_variants(rows_of(before(torch=2.0)), "torch", "norse"))) == {"same"}


def test_a_variant_that_has_no_counterpart():
    rows = rows_of([*records(), *blocks("torch", neurons=5)])
    lost, gained = compare_variants(rows, "torch", "jax"), compare_variants(rows, "jax", "torch")
    assert [(one.cases, one.worse, one.undecided) for one in (lost, gained)] == [
        (1, False, True),
        (1, True, False),
    ]
    (name,) = lost.only_base
    assert name.startswith("torch soft linear-lif N=5 ") and gained.only_new == [name]
    with pytest.raises(ConfigError, match="there is no jex; did you mean 'jax'"):
        compare_variants(rows, "torch", "jex")


def test_two_variants_in_groups_of_their_own():
    rows = rows_of(
        [*blocks("torch", step=0.004, batch=1), *blocks("jax", step=0.008, batch=16, alive="later")]
    )
    comparison = compare_variants(rows, "torch,batch=1", "jax, batch=16")
    assert verdicts(comparison) == {"slower": phases("torch")}
    assert [one.ratio for one in comparison.changes] == pytest.approx([2] * 4, rel=0.005)
    assert compare_variants(rows, "torch", "jax").cases == 0
    for pair, reason in (
        (("torch,batch=1", "jax"), "both sides must name the same axes"),
        (("torch,batch", "jax,batch=16"), "'batch' must look like batch=16"),
        (("torch,bach=1", "jax,bach=16"), "there is no bach; did you mean 'batch'"),
        (("torch,batch=1", "jax,batch=8"), r"batch: there is no 8 \(there are 16\)"),
    ):
        with pytest.raises(ConfigError, match=reason):
            compare_variants(rows, *pair)


def test_disturbed_variants_are_refused():
    rows = rows_of(busy())
    assert set(verdicts(compare_variants(rows, "jax", "torch"))) == {"unsure"}
