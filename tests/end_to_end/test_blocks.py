"""Cases of a group are alive together in each block; an added case is measured together with the
others."""

import pytest
from support.command_line import ALL_PHASES

ADAPTERS = ["numpy_network.py:NumpyNetwork", "held.py:Held"]


@pytest.fixture(scope="module")
def ended(snnbench_module):
    config = snnbench_module.config(["numpy", "held"], ADAPTERS, measure="blocks = 2\npasses = 3")
    return config, snnbench_module.run(config)


def live_sets(result):
    """By block, the name of the live set of each framework."""
    found = {}
    for record in result.records:
        found.setdefault(record["block"], {})[record["case"]["framework"]] = record["live_set"]
    return found


def test_each_block_has_fresh_processes_that_are_alive_together(ended):
    _, result = ended
    assert result.exit_code == 0, result.stderr
    blocks = live_sets(result)
    assert [sorted(names) for names in blocks.values()] == [["held", "numpy"]] * 2
    assert all(len(set(names.values())) == 1 for names in blocks.values())
    assert blocks[0]["numpy"] != blocks[1]["numpy"]
    assert len({record["set"] for record in result.records}) == 1


def test_a_pass_has_a_slot_of_each_before_the_next_one_begins(ended):
    _, result = ended
    for block in (0, 1):
        members = [
            one["parts"]["step"]["timing"]["slots"]
            for one in result.records
            if one["block"] == block
        ]
        assert [[slot["pass"] for slot in slots] for slots in members] == [[0, 1, 2]] * 2
        starts = [[slots[number]["began"] for slots in members] for number in range(3)]
        assert max(starts[0]) < min(starts[1]) and max(starts[1]) < min(starts[2])
        assert all(slot["elapsed"] >= slot["wall"] for slots in members for slot in slots)


def test_the_canary_is_heard_in_every_pass(ended):
    assert {len(record["monitor"]["canary"]) for record in ended[1].records} == {3}


def test_overhead_is_what_no_part_explains_and_stands_beside_the_null_probe(ended):
    _, result = ended
    for record in result.records:
        parts = sum(
            part["seconds"] or 0 for name, part in record["parts"].items() if name != "recheck"
        )
        slots = [
            slot
            for part in record["parts"].values()
            if part["timing"]
            for slot in part["timing"]["slots"]
        ]
        assert (
            0
            < record["overhead_s"]
            < record["duration_s"] - parts - sum(slot["elapsed"] for slot in slots)
        )
        assert 0 < record["monitor"]["null_s"] < 60
    assert len({record["monitor"]["null_s"] for record in result.records}) == 1, "probed once a run"


@pytest.mark.slow
def test_an_added_case_is_measured_together_with_the_group(snnbench):
    config = snnbench.config(["numpy"], ADAPTERS)
    assert snnbench.run(config).exit_code == 0
    both = ["--set", 'grid.framework=["numpy", "held"]']
    more = snnbench.run(config, *both)
    assert more.exit_code == 0, more.stderr
    (names,) = live_sets(more).values()
    assert names.keys() == {"numpy", "held"} and len({*names.values()}) == 1
    assert (more.record("numpy")["attempt"], more.record("held")["attempt"]) == (2, 1)
    assert snnbench.run(config, *both).records == more.records, "what is done is kept"


@pytest.mark.slow
def test_a_failing_case_ends_no_other(snnbench):
    config = snnbench.config(["numpy"], [*ADAPTERS, "raising.py:ForwardRaises"])
    before = snnbench.run(config).records
    more = snnbench.run(config, "--set", 'grid.framework=["numpy", "forward-raises"]')
    assert more.record("numpy") == before[0]


@pytest.mark.slow
def test_other_phases_than_the_step_may_be_timed_in_the_first_blocks_only(snnbench):
    ended = snnbench.run(
        snnbench.config(["numpy"], ADAPTERS, measure=f"{ALL_PHASES}blocks = 2\nphase_blocks = 1")
    )
    assert ended.exit_code == 0, ended.stderr
    timed = {
        record["block"]: {name for name, part in record["parts"].items() if part["timing"]}
        for record in ended.records
    }
    assert timed == {0: {"forward", "backward", "step", "inference"}, 1: {"step"}}
    (row,) = ended.rows
    assert row["forward_s"] and not row["forward_lo_s"], "one block shows no interval"
