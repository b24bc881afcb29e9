"""Each flag is raised by its own fault only."""

import pytest
from support.synthetic import blocks, disturbed

from snnbench.records.quality import disturbed_share, flags
from snnbench.records.rows import rows_of
from snnbench.report.words import FLAGS, remarks_on


def spoilt(flag: str) -> list:
    """Returns records with just this fault."""
    records = blocks("torch", count=2 if flag == "few_blocks" else 3)
    if flag == "disturbed":
        disturbed(records, every=4)
    for number, each in enumerate(records):
        slots = each.timing("step").slots
        for place, slot in enumerate(slots):
            if flag == "preempted":
                slot.device = 0.94 * slot.wall
            if flag == "drift":
                slot.wall *= 1 + 0.02 * place
            slot.device = min(slot.device, slot.wall)
        if flag == "shared_cpu":
            each.monitor["foreign_cores"] = 0.3
        if flag == "throttled":
            each.monitor["throttle_reasons"] = 0x40
        if flag == "not_compiled":
            each.facts["backend"] = "reference"
        if flag == "unsteady":
            each.monitor["canary"] = [0.03 * (1 + 0.06 * number), None, 0.03 * (1 + 0.06 * number)]
    return records


@pytest.mark.parametrize(
    "flag",
    [
        "few_blocks",
        "drift",
        "shared_cpu",
        "throttled",
        "unsteady",
        "preempted",
        "disturbed",
        "not_compiled",
    ],
)
def test_a_fault_raises_its_flag(flag):
    raised = flags(spoilt(flag))
    if flag == "disturbed":
        raised.remove("preempted")  # what spoilt the slots
    assert raised == [flag] and flag in FLAGS


def test_a_block_that_was_disturbed_does_not_count():
    records = blocks("torch")
    for slot in records[1].timing("step").slots[:7]:
        slot.disturbed = "preempted"
    assert "few_blocks" in flags(records) and "few_blocks" not in flags(blocks("torch"))


def test_good_records_raise_none():
    assert flags(blocks("torch")) == []


def test_one_slow_pass_is_no_drift():
    records = blocks("torch")
    for each in records:
        last = each.timing("step").slots[-1]
        last.wall = last.device = 2 * last.wall
    assert flags(records) == []


def test_a_canary_that_is_unsteady_within_a_block_is_seen():
    records = blocks("torch")
    records[1].monitor["canary"] = [0.03, 0.03, 0.033, 0.033, None]
    assert flags(records) == ["unsteady"]


def test_a_quiet_machine_is_steady():
    """Three blocks of the quickstart set: single tasks of 30 ms scatter, and their medians move
    by some percent."""
    records = blocks("torch")
    canaries = [
        [30.5, 30.9, 31.2, 31.9, 32.3, 32.6, 33.2],
        [30.2, 30.5, 30.9, 31.0, 31.1, 31.4, 31.9],
        [31.1, 32.0, 32.4, 32.9],
    ]
    for each, canary in zip(records, canaries, strict=False):
        each.monitor["canary"] = [seconds / 1e3 for seconds in canary]
    assert flags(records) == []


def test_the_share_of_disturbed_slots_is_said():
    records = disturbed(blocks("torch"), every=3)
    assert disturbed_share(records) == pytest.approx(1 / 3) and disturbed_share([]) is None
    (row,) = rows_of(records)
    assert remarks_on(row) == "preempted, 33% disturbed"
