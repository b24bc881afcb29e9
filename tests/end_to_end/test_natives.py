"""Native neurons from the command line: measured in a table of their own beside ranked ones, a
wrong one named."""

from dataclasses import fields

import pytest
from support.command_line import ALL_PHASES, TINY
from support.paths import WRONG

from snnbench.kernels.spec import NeuronSpec
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.table import Table
from snnbench.report.tables.markdown import markdown_text

NATIVES = WRONG / "natives.py"


@pytest.mark.slow
def test_a_run_measures_natives_and_ranks_none(snnbench):
    measure = f"{ALL_PHASES}blocks = 2"
    config = snnbench.config(["right-native", "torch"], [f"{NATIVES}:Right"], measure=measure)
    ended = snnbench.run(config, "--set", "grid.neuron=native")
    assert ended.exit_code == 0, ended.stderr
    row, other = (
        next(row for row in ended.rows if row["framework"] == name)
        for name in ("right-native", "torch")
    )
    assert (row["neuron"], row["status"], row["blocks"], row["rank_low"], row["ratio"]) == (
        "native",
        "ok",
        "2",
        "",
        "",
    )
    assert row["native"] == "Loop(decay=0.8): soft, with gradient, surrogate atan(2)"
    assert (row["output_dtype"], row["state_dtype"]) == ("float32", "float32")
    assert 0.02 <= float(row["firing_rate"]) <= 1 and float(row["input_scale"]) == 1
    assert (row["proved"], row["grad_error"], row["wrong_decisions"], row["spike_mismatch"]) == (
        "",
        "",
        "",
        "",
    )
    assert {key: value for key, value in row.items() if key.startswith("neuron_")} == dict.fromkeys(
        (f"neuron_{field.name}" for field in fields(NeuronSpec)), ""
    )
    assert all(
        float(row[f"{phase}_s"]) > 0 for phase in ("forward", "backward", "step", "inference")
    )
    assert int(row["peak_memory_bytes"]) > 0
    assert (other["status"], other["reason"]) == ("unsupported", "torch has no native neuron")
    assert "firing rate" in ended.stdout and "× best" not in ended.stdout
    assert "Loop(decay=0.8)" in ended.stdout
    assert "Loop(decay=0.8)" in (ended.folder / "report.html").read_text(encoding="utf-8")
    again = snnbench.run(config, "--set", "grid.neuron=native")
    assert again.records == ended.records, "nothing is measured twice"


@pytest.mark.slow
def test_a_wrong_native_ends_a_run_with_4_and_is_named(snnbench):
    config = snnbench.config(
        ["carried-over", "silent-native"], [f"{NATIVES}:CarriedOver", f"{NATIVES}:Silent"]
    )
    ended = snnbench.run(config, "--set", "grid.neuron=native")
    assert ended.exit_code == 4
    wrong, silent = ended.record("carried-over"), ended.record("silent-native")
    assert wrong["status"] == "check_failed"
    assert "state leaks between calls" in wrong["reason"]
    assert (silent["status"], silent["parts"]["excitation"]["status"]) == (
        "unsupported",
        "unsupported",
    )
    assert "256 times the input" in silent["reason"]


@pytest.mark.slow
def test_natives_stand_in_a_table_of_their_own_beside_ranked_ones(snnbench):
    config = snnbench.config(["right-native", "torch"], [f"{NATIVES}:Right"])
    ended = snnbench.run(config, "--set", 'grid.neuron=["native", "soft"]')
    rows = rows_of([Record.model_validate(record) for record in ended.records])
    ranked = {
        (row.case.framework, row.case.neuron.label()): bool(row.standing)
        for row in rows
        if row.status == "ok"
    }
    assert ranked == {("right-native", "native"): False, ("torch", "soft"): True}
    native, ranked = markdown_text(Table(rows)).split("**neuron soft")
    assert "not ranked" in native and "firing rate" in native and "× best" not in native
    assert "× best" in ranked and "firing rate" not in ranked


@pytest.mark.slow
def test_check_says_what_it_showed(snnbench):
    given = [*TINY, "--neuron", "native"]
    ended = snnbench("check", "--adapter", f"{NATIVES}:Right", *given)
    assert ended.exit_code == 0, ended.stderr
    assert "right time axis" in ended.stdout and "same network" not in ended.stdout
    ended = snnbench("check", "--adapter", f"{NATIVES}:Pointwise", *given)
    assert ended.exit_code == 4
    assert "has no memory" in ended.stdout
