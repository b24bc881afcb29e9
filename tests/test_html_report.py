"""report.html: self-contained, escaped, nothing missing, nothing ranked that may not be, the numbers of results.csv."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from time import perf_counter

import pytest

from snnbench import stats
from snnbench.adapters.base import Case
from snnbench.kernels.spec import NEURONS
from snnbench.plan import case_id
from snnbench.report import units
from snnbench.report.charts import LABEL, MARGIN, WIDTH, axis_of
from snnbench.report.coverage import KINDS, MEANINGS
from snnbench.report.csv_table import columns_of
from snnbench.report.html import html_text
from snnbench.report.rows import rows_of
from snnbench.store import Record
from snnbench.worker.errors import STATUSES
from snnbench.worker.phases import PHASES

HOSTILE = """<script>alert("x")</script><img src='http://evil.example/x.png' onerror=alert(1)>"""


def samples(seconds: float) -> dict:
    wall = [seconds * (1 + 0.01 * (i % 5)) for i in range(20)]
    at = [sum(wall[:i]) for i in range(20)]
    clocks = {"wall": wall, "enqueue": [0.5 * s for s in wall], "device": wall, "at": at, "device_clock": "process"}
    return clocks | {"warm_up_calls": 3, "warm_up_converged": True, "stop_reason": "converged"}


def record(framework="torch", status="ok", reason=None, round=0, step=0.004, machine="m1", passed=True, **case) -> Record:
    """A record as a run writes it; of one that is not ok only the forward phase went well."""
    case = Case(framework, **case)
    parts = {name: {"status": "ok", "seconds": 0.25} for name in ("import", "build", "first_call")}
    for phase, share in zip(PHASES, (0.4, 0.5, 1.0, 0.3), strict=True):
        good = status == "ok" or phase == "forward"
        parts[phase] = {"status": "ok", "samples": samples(share * step)} if good else {"status": status, "reason": reason}
    findings = [] if passed else [reason]
    errors = {"weight": 4.5e-7, "bias": 4.2e-7, "input": 4.8e-7}
    stage = {"findings": findings, "wrong_decisions": 1e-6, "errors": errors, "firing_rate": 0.151, "grad_error": 4.8e-7}
    stages = [{"name": f"own size, {case.precision}", "passed": passed, **stage}]
    return Record(
        snnbench="0.1.0",
        case_id=case_id(case),
        case=case.as_dict(),
        round=round,
        done_key="k",
        status=status,
        reason=reason,
        parts=parts,
        facts={"output_dtype": "float32", "spike_mismatch": 0.0},
        proof=None if round else {"passed": passed, "reason": None, "stages": stages, "gains": [1.134]},
        memory={} if round else {p: {"peak_bytes": 3 << 20, "extra_bytes": 1 << 20, "reserved_bytes": None} for p in PHASES},
        memory_meaning="XLA allocated" if framework == "jax" else "host resident",
        adapter={"name": framework, "version": "1.0", "reference": "a:B", "source_sha256": "c" * 64},
        environment={"name": "default", "hash": "e", "python": "CPython 3.11.7", "devices": ["cpu"]},
        machine={"cpu": "AMD EPYC", "usable_threads": 2, "memory_bytes": 2**34, "gpus": [], "hash": machine},
        measure={"rounds": 2, "rel_ci": 0.01, "budget": 2.0, "timeout": 120.0, "host_memory": 2**34, "threads": 0},
        monitor={"null_s": 0.12},
        started_at="2026-11-20T13:31:34+00:00",
        duration_s=2.0,
        overhead_s=0.16,
    )


def unmeasured(framework: str, status: str, **case) -> Record:
    empty = {"parts": {}, "facts": {}, "proof": None, "memory": {}, "memory_meaning": None, "overhead_s": None, "monitor": {}}
    return record(framework, status, f"why {framework} is {status}", **case).model_copy(update=empty)


def rounds(framework: str, **fields) -> list[Record]:
    return [record(framework, round=round, **fields) for round in (0, 1)]


class Page(HTMLParser):
    """Tables as lists of rows of cell texts, by the id of the section they are in, and every attribute seen."""

    def __init__(self, text: str):
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: set[str] = set()
        self.text, self.section, self._cell = "", "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "section":
            self.section = dict(attrs).get("aria-labelledby", "")
        elif tag == "table":
            self.tables.append((self.section, []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data):
        self.text += data
        if self._cell:
            self.tables[-1][1][-1][-1] += data

    def of(self, section: str) -> list[list[list[str]]]:
        return [[[" ".join(cell.split()) for cell in row] for row in table] for name, table in self.tables if name == section]


def page(records: list[Record], name="experiment", unreadable=()) -> Page:
    return Page(html_text(rows_of(records), name, list(unreadable)))


def test_nothing_is_requested_from_anywhere():
    text = html_text(rows_of(rounds("torch") + rounds("jax", reason=HOSTILE)), HOSTILE, [])
    parsed = Page(text)
    for tag, name, value in parsed.attributes:
        if name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            assert value.startswith("#"), (tag, name, value)
        assert not name.startswith("on"), (tag, name)
    assert not parsed.tags & {"script", "link", "img", "iframe", "object", "embed", "base"}
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style and "@import" not in style and ":root" in style


def test_hostile_text_is_escaped_wherever_it_comes_from():
    bad = record(HOSTILE, "check_failed", HOSTILE, passed=False)
    warned = record(HOSTILE, neurons=512).model_copy(
        update={"warnings": [HOSTILE], "stderr_tail": HOSTILE, "memory_meaning": HOSTILE}
    )
    for block in (warned.adapter, warned.environment, warned.machine, warned.facts, warned.measure):
        block["hostile"] = HOSTILE
    warned.facts["output_dtype"] = warned.machine["cpu"] = warned.environment["python"] = warned.adapter["version"] = HOSTILE
    text = html_text(rows_of([bad, warned]), HOSTILE, [HOSTILE])
    assert "<script" not in text and "<img" not in text
    quoted = [value for _, _, value in Page(text).attributes if "script" in value]
    assert quoted and all(HOSTILE in value for value in quoted)  # whole inside one attribute: no quote got out
    assert Page(text).text.count(HOSTILE) >= 10


def test_every_case_is_in_the_map_with_its_status_and_reason():
    others = [status for status in STATUSES if status != "ok"]
    records = [unmeasured(f"f-{status}", status, neurons=size) for status in others for size in (128, 256)] + rounds("torch")
    parsed = page(records)
    coverage, endings = parsed.of("coverage")
    assert coverage[0] == ["framework", "N = 128", "N = 256"]
    lines = {line[0]: line[1:] for line in coverage[1:]}
    assert lines == {f"f-{status}": [status, status] for status in others} | {"torch": ["–", "ok #1"]}
    titles = [value for tag, name, value in parsed.attributes if (tag, name) == ("td", "title")]
    for status in others:
        for size in (128, 256):
            assert f"f-{status} · N = {size}: {status}: why f-{status} is {status}" in titles
        assert [f"f-{status}", status, f"why f-{status} is {status}", "N = 128 N = 256", ""] in endings
    assert {*STATUSES} == {*KINDS} == {*MEANINGS}


def test_numbers_are_those_of_the_csv():
    rows = rows_of(rounds("torch") + rounds("jax", step=0.011))
    parsed = Page(html_text(rows, "experiment", []))
    (times,) = parsed.of("times")
    memory, proof = parsed.of("memory"), parsed.of("proof")[0]
    for row in rows:
        values = columns_of(row)
        cells = next(line for line in times if row.case.framework_variant in line)
        step = f"{units.seconds(values['step_s'])}{units.seconds(values['step_lo_s'])} – {units.seconds(values['step_hi_s'])}"
        assert cells[0] == str(values["rank"]) and cells[2] == step
        assert cells[4].startswith(f"{values['ratio']:.2f}")
        assert cells[5:8] == [units.seconds(values[f"{phase}_s"]) for phase in ("forward", "backward", "inference")]
        assert cells[8] == units.share(values["step_enqueue_s"] / values["step_s"]) == "50.0%"
        assert cells[9:12] == [units.seconds(values[f"{name}_s"]) for name in ("first_call", "import", "build")]
        assert cells[12] == f"{values['samples']} in {values['rounds']}"
        weighed = next(line for table in memory for line in table if line[0] == row.case.framework_variant)
        kinds = [values[f"{phase}_{kind}_memory_bytes"] for phase in PHASES for kind in ("peak", "extra")]
        assert weighed[1:] == [values["memory_meaning"], *map(units.size, kinds)]
        verdict = next(line for line in proof if line[0] == row.case.framework_variant)
        errors = ["4.5e-07", "4.2e-07", "4.8e-07"]
        assert max(errors) == units.error(values["grad_error"])
        rest = ["0 %", units.share(values["firing_rate"]), "1.134", values["output_dtype"]]
        assert verdict[1:] == ["proved", "1 of 1", "0.0001 %", *errors, *rest]
    _, low, high = stats.ratio(rows[1].rounds_of("step"), rows[0].rounds_of("step"))
    assert f"{rows[1].ratio:.2f}{low:.2f} – {high:.2f}" in [line[4] for line in times if len(line) > 4]


def test_neurons_and_machines_are_never_ranked_together():
    records = []
    for neuron in ("soft", "hard"):
        for machine in ("m1", "m2"):
            for name in ("torch", "jax"):
                records += rounds(name, neuron=NEURONS[neuron], machine=machine)
    tables = page(records).of("times")
    assert len(tables) == 4
    assert all([line[0] for line in table] == ["#", "1", "2"] for table in tables)


def test_memory_of_different_meaning_is_never_in_one_table():
    tables = page(rounds("torch") + rounds("jax")).of("memory")
    assert len(tables) == 2
    assert all(len({line[1] for line in table[2:]}) == 1 for table in tables)


def test_what_may_not_be_ranked_has_no_rank_and_comes_last():
    broken = record("norse", "timeout", "no end after 600 s")
    refused = record("spyx", "check_failed", "decays once too often", passed=False)
    lost = record("sinabs", round=1)  # the record of its proof is gone
    parsed = page([*rounds("torch"), broken, refused, lost])
    (times,) = parsed.of("times")
    assert [line[0] for line in times] == ["#", "1", "not ranked", "", "", "", ""]
    timed = next(line for line in times if "norse" in line)
    assert timed[2] == "timeout" and timed[5] == "1.63 ms"  # its good phase is shown
    assert ["", "spyx", "check_failed decays once too often"] in times  # the times of a wrong network are not
    assert ["", "sinabs", "ok the records hold no proof, so the times are withheld"] in times
    assert "decays once too often" in parsed.text.split("Refused")[-1]
    assert ["sinabs", "ok, not ranked"] in parsed.of("coverage")[0]


def test_the_trust_box_says_what_the_data_say():
    noisy = rounds("jax", step=0.011)
    for each in noisy:
        each.parts["step"].samples.stop_reason = "budget"
    slow = record("spyx", step=0.012).model_copy(update={"overhead_s": 0.75})
    records = [*rounds("torch"), *noisy, slow, record("norse", "implausible", "too fast")]
    text = " ".join(page(records, unreadable=["x.json is not a record"]).text.split())
    for sentence in (
        "3 of 4 cases ranked.",
        "1 case refused as faster than the hardware allows (implausible).",
        "Not converged (1 of 3 ranked rows)",
        "CPU time of the process, all threads",
        "took 160 ms (median) and at most 750 ms per case and round",
        "A worker that does nothing takes 120 ms.",
        "Left out: 1 file that could not be read.",
        "x.json is not a record",
    ):
        assert sentence in text
    assert "refused because the proof failed" not in text


@pytest.mark.parametrize("records", [[], [unmeasured("torch", "crash")]])
def test_little_or_nothing_to_show(records):
    parsed = page(records)
    assert "experiment" in parsed.text
    assert not re.search(r"\b(nan|None|inf)\b", parsed.text)


@pytest.mark.parametrize("seconds", [[1e-3], [1e-3, 1.01e-3], [1.2e-3, 2.9e-3], [1e-6, 3e2], [0.0, 1.0], [9.7e-4, 1.2e-2]])
def test_the_axis_holds_all_times_and_its_labels_do_not_touch(seconds):
    axis = axis_of(seconds)
    places = [tick["x"] for tick in axis.ticks]
    assert all(MARGIN <= axis.x(value) <= WIDTH - MARGIN for value in seconds)
    assert places and all(MARGIN <= place <= WIDTH - MARGIN for place in places)
    assert all(right - left >= LABEL for left, right in pairwise(places))


def test_hundreds_of_rows_take_seconds():
    records = [record(f"f{i}", neurons=128 * n, step=0.001 * (i + 1)) for i in range(20) for n in range(1, 11)]
    rows = rows_of(records)
    start = perf_counter()
    html_text(rows, "many", [])
    assert perf_counter() - start < 10
