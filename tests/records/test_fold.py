"""A worker's events, complete or cut off anywhere, become a record."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import GOLDEN

from snnbench.core.status import STATUSES
from snnbench.executors.events import SENSELESS, read_events
from snnbench.executors.launch import Outcome
from snnbench.records.fold import fold, unfinished_part
from snnbench.records.record import Record
from snnbench.runner.outcome import verdict

GOLDEN_RECORD = json.loads((GOLDEN / "record-2.json").read_text())
MEMORY = {"forward": {"peak_bytes": 3, "extra_bytes": 1, "reserved_bytes": None}}
EVENTS = [
    {"part": "import"},
    {"part": "import", "status": "ok", "seconds": 0.25},
    {"part": "build"},
    {"part": "build", "status": "ok", "seconds": 0.5},
    {"part": "first_call"},
    {
        "part": "first_call",
        "status": "ok",
        "seconds": 0.5,
        "facts": {"output_dtype": "float32", "warnings": ["also trains tau"]},
    },
    {"part": "memory"},
    {"part": "memory", "status": "ok", "seconds": 0.5},
    {"part": "memory", "memory": MEMORY, "memory_meaning": "host resident", "host_peak_bytes": 5},
    {"part": "proof"},
    {"part": "proof", "status": "ok", "proof": {"passed": True, "forged": True}},
    {"part": "forward"},
    {"part": "forward", "status": "ok", "seconds": 1.0},
    {"part": "recheck"},
    {"part": "forward", "warnings": ["W-SYNC"], "facts": {"recompiles": 1}},
    {"part": "backward"},
    {"part": "backward", "status": "oom_host", "reason": "MemoryError", "seconds": 1.0},
    {"part": "recheck"},
    {"part": "ceilings", "status": "ok", "seconds": 0.25},
    {"part": "ceilings", "flops_per_s": 1e9, "bytes_per_s": 1e9},
    {"part": "end", "cpu_seconds": 3.0},
]
JUDGED = [
    {"part": "proof", "status": "ok", "seconds": 1.0, "proof": {"passed": True, "stages": []}},
    {"part": "recheck", "status": "ok", "seconds": 0.25},
    {"part": "recheck", "status": "ok", "seconds": 0.25},
]
"""The judge's event."""


def recorded(events, **outcome):
    """Returns the record that a runner writes for a worker with these events."""
    folded = verdict(Outcome(events=copy.deepcopy(events), **outcome), "cpu", copy.deepcopy(JUDGED))
    return Record.model_validate({**GOLDEN_RECORD, "proof": None, **folded})


def test_events_become_parts():
    record = recorded(EVENTS, exit_code=0)
    assert (record.status, record.reason) == ("oom_host", "MemoryError")
    assert record.parts["forward"].status == "ok"
    assert record.parts["recheck"].seconds == 0.5, "it came twice"
    assert record.warnings == ["also trains tau", "W-SYNC"]
    assert record.facts == {"output_dtype": "float32", "recompiles": 1}, (
        "what becomes known later is added"
    )
    assert record.proof == {"passed": True, "stages": []}, "the judge's, whatever the worker says"
    assert (record.memory, record.host_peak_bytes) == (MEMORY, 5)


ENDS = [{"exit_code": 0}, {"exit_code": 3}, {"signal": 11}, {"timed_out": True}]


@given(st.integers(0, len(EVENTS) - 1), st.sampled_from(ENDS))
def test_events_cut_anywhere_are_a_record_that_names_where(count, how):
    record = recorded(EVENTS[:count], **how)
    assert record.status == ("timeout" if "timed_out" in how else "crash")
    part = EVENTS[count - 1]["part"] if count else "start"
    assert f"in part {part!r}" in record.reason
    assert record.parts[part].status == record.status
    assert unfinished_part(EVENTS[:count]) == part


@given(st.integers(0, 4000))
def test_events_cut_at_any_byte_are_those_of_whole_lines(count):
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    whole = EVENTS[: text[:count].count("\n")]
    assert read_events(text[:count].encode()) == [
        {key: event[key] for key in event if key != "proof"} for event in whole
    ]


@given(st.lists(st.sampled_from(STATUSES), min_size=1))
def test_a_case_shows_its_worst_status_and_that_one_s_reason(statuses):
    events = [{"part": str(i), "status": s, "reason": f"{s}!"} for i, s in enumerate(statuses)]
    folded = fold([*events, {"part": "end"}])
    assert folded["status"] == max(statuses, key=STATUSES.index)
    assert folded["reason"] == f"{folded['status']}!"


def read(*lines):
    return read_events("".join(f"{line}\n" for line in lines).encode())


def test_a_message_cannot_give_orders_to_a_terminal():
    hostile = "\x1b[31mred\x1b[0m \x07and\tpl\u202eain\x9b1m\nwords\ud800"
    event = {
        "part": "build",
        "status": "build_error",
        "reason": hostile,
        "warnings": [hostile],
        "facts": {hostile: hostile},
    }
    folded, harmless = (
        fold(read_events(json.dumps(event).encode() + b"\n")),
        "red and\tplain\nwords",
    )
    assert (folded["reason"], folded["warnings"], folded["facts"]) == (
        harmless,
        [harmless],
        {harmless: harmless},
    )


def test_what_json_has_no_word_for_is_unknown():
    (event,) = read('{"part": "ceilings", "flops_per_s": Infinity, "bytes_per_s": NaN}')
    assert event == {"part": "ceilings", "flops_per_s": None, "bytes_per_s": None}


def test_a_process_s_memory_is_known_without_that_of_phases():
    """A case that delivers data reports no other."""
    folded = fold(read('{"part": "memory", "host_peak_bytes": 7}'))
    assert folded["host_peak_bytes"] == 7 and "memory" not in folded


JUNK = [
    "no JSON",
    "[]",
    "3",
    '{"part": 3}',
    "{}",
    '{"part": "build", "status": "great"}',
    '{"part": "build", "seconds": "1"}',
    '{"part": "build", "warnings": "W"}',
    '{"part": "build", "facts": []}',
    '{"part": "memory", "memory": {"forward": 3}}',
    "[" * 9999,
    '{"part": "build", "reason": 3}',
    '{"part": "build", "facts": {"compile_s": "soon"}}',
    '{"part": "end"}',
    '{"part": "build", "facts": {"warnings": "eight"}}',
    '{"part": "build", "seconds": -1}',
    '{"part": "build", "seconds": 1e999}',
    '{"part": "memory", "memory": {"sideways": {"peak_bytes": 1}}}',
    '{"part": "ceilings", "rates": {"copy_bytes_per_s": {"x": 1}}}',
    '{"part": "build", "facts": {"compile_s": 1e400}}',
    '{"part": "build", "seconds": %s}' % ("9" * 5000),
]


@pytest.mark.parametrize("line", JUNK, ids=range(len(JUNK)))
def test_a_line_that_no_worker_of_ours_writes_is_an_error_of_its_case(line):
    first, wrong, last = read(json.dumps(EVENTS[0]), line, json.dumps(EVENTS[-1]))
    assert (first, last) == (EVENTS[0], EVENTS[-1])
    assert wrong["part"] == "events" and wrong["reason"].startswith(f"{SENSELESS}: ")
    for events in ([first, wrong, last], [first, last, wrong]):
        record = recorded(events, exit_code=0)
        assert (record.status, record.reason) == ("error", wrong["reason"])
