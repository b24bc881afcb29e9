"""The table of docs/coverage.md: nothing missing, and no claim without a record."""

import json

import pytest
from support.paths import GOLDEN

from snnbench.core.case import Case
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.table import Table
from snnbench.report.tables.proved import matrix_text

RECORD = json.loads((GOLDEN / "record-2.json").read_text())


def record(
    framework="numpy",
    neuron=None,
    device="cpu",
    precision="fp32",
    status="ok",
    reason=None,
    state="float32",
    **changes,
):
    case = {**RECORD["case"], "framework": framework, "device": device, "precision": precision}
    case["neuron"] = (
        {"native": True}
        if neuron == "native"
        else {**case["neuron"], **({"reset": neuron} if neuron else {})}
    )
    known = (
        {"facts": {**RECORD["facts"], "state_dtype": state}}
        if status == "ok"
        else {"parts": {}, "proof": None, "facts": {}}
    )
    ended = {"case_id": Case.from_dict(case).id, "case": case, "status": status, "reason": reason}
    return Record.model_validate({**RECORD, **known, **ended, **changes})


def matrix(*records) -> str:
    return matrix_text(Table(rows_of(list(records))))


def table(*records) -> list[list[str]]:
    """Cells of all lines but the one below the head."""
    lines = [
        line for line in matrix(*records).splitlines() if line.startswith("|") and ":--" not in line
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_cell_names_what_was_proved_and_where_the_state_is_longer_than_asked():
    records = [record(), record(precision="bf16"), record(precision="fp16", state="float16")]
    records.append(record(precision="amp-bf16", state="int64"))
    assert table(*reversed(records)) == [
        ["framework", "soft"],
        ["numpy", r"fp32, bf16\*, fp16, amp-bf16\*"],
    ]


def test_a_precision_of_several_sizes_is_named_once_and_markup_stays_text():
    def sized(neurons, **fields):
        made = record(**fields)
        made = made.model_copy(update={"case": {**made.case, "neurons": neurons}})
        return made.model_copy(update={"case_id": made.typed_case.id})

    refused = sized(97, precision="bf16", status="unsupported", reason="no <b>bf16</b> here")
    text = matrix(sized(31), sized(97), sized(31, precision="bf16"), refused)
    assert (
        "| numpy | fp32, bf16\\* (1 of 2 sizes)<sup>1</sup> |" in text
        and "1. no &lt;b>bf16&lt;/b> here" in text
    )


def test_what_is_missing_has_a_note_with_its_reason_once():
    text = matrix(
        record(),
        record(precision="bf16", status="unsupported", reason="no halves"),
        record(neuron="none", status="unsupported", reason="always resets"),
        record(neuron="none", precision="bf16", status="unsupported", reason="always resets"),
        record("other", precision="bf16"),
        record("other", neuron="none"),
    )
    assert "| numpy | fp32<sup>1</sup> | –<sup>2</sup> |" in text
    assert r"| other | bf16\* | fp32 |" in text
    assert text.count("no halves") == text.count("always resets") == 1
    assert "1. no halves" in text and "2. always resets" in text


def test_a_reason_that_holds_for_a_whole_precision_is_said_below_and_nowhere_else():
    reason = "TF32 exists on CUDA devices only"
    refused = [
        record(name, precision="tf32", status="unsupported", reason=reason)
        for name in ("a", "numpy")
    ]
    text = matrix(record(), record("a"), *refused)
    assert text.count(reason) == 1
    assert f"* tf32: {reason}" in text
    assert "<sup>" not in text
    away = [
        record("b", precision=precision, status="env_error", reason="needs a GPU")
        for precision in ("fp32", "tf32")
    ]
    text = matrix(record(), record("a"), *refused, *away)
    assert (
        f"* tf32: {reason}" in text and "| b | –<sup>1</sup> |" in text and "1. needs a GPU" in text
    )


@pytest.mark.parametrize("status", ["check_failed", "import_error", "crash", "implausible"])
def test_a_failure_is_no_gap(status):
    text = matrix(record(), record(precision="bf16", status=status, reason="went wrong"))
    assert "fp32, bf16 ✗<sup>1</sup>" in text
    assert "1. went wrong" in text


def test_what_no_proof_shows_is_not_claimed():
    unproved = record(proof=None)
    assert "| numpy | fp32 ✗<sup>1</sup> |" in matrix(unproved)


def test_each_device_has_its_table_and_natives_a_column():
    both = [record(), record(neuron="native"), record(device="cuda")]
    text = matrix(*both)
    assert "**cpu**" in text and "**cuda**" in text
    assert "cuda" not in matrix(*both[:2])
    assert table(*both[:2])[0] == ["framework", "soft", "native"]


def test_variants_have_lines_of_their_own_and_what_was_not_planned_is_empty():
    other = record()
    other.case["construction"] = "stepwise"
    other.case_id = other.typed_case.id
    assert table(record(), other, record("b", neuron="none")) == [
        ["framework", "soft", "none"],
        ["b", "", "fp32"],
        ["numpy", "fp32", ""],
        ["numpy:stepwise", "fp32", ""],
    ]
