"""report.html: self-contained, escaped, complete, correctly ranked, with the numbers of
results.csv."""

import json
import re
from html.parser import HTMLParser

import pytest
from support.synthetic import HOSTILE, blocks, disturbed, figure, record, table_of, unmeasured

from snnbench.common import units
from snnbench.core.case import NATIVE, USUAL_PHASES
from snnbench.core.status import STATUSES
from snnbench.records.rows import rows_of
from snnbench.report.page.page import html_text
from snnbench.report.page.trust import trust
from snnbench.report.words import KINDS, MEANINGS


class Page(HTMLParser):
    """Tables as lists of rows of cell texts, by their section's id, and every attribute."""

    def __init__(self, text: str):
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: set[str] = set()
        self.text, self.section, self._cell = "", "", False
        self.scripts: list[str] = []
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "section":
            self.section = dict(attrs).get("aria-labelledby", "")
        elif tag == "script":
            self.scripts.append("")
            self._script = True
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
        elif tag == "script":
            self._script = False

    def handle_data(self, data):
        if self._script:
            self.scripts[-1] += data
            return
        self.text += data
        if self._cell:
            self.tables[-1][1][-1][-1] += data

    def of(self, section: str) -> list[list[list[str]]]:
        return [
            [[" ".join(cell.split()) for cell in row] for row in table]
            for name, table in self.tables
            if name == section
        ]


def page(records: list, name="experiment", unreadable=()) -> Page:
    return Page(html_text(table_of(records), name, unreadable))


def test_nothing_is_requested_from_anywhere_and_only_the_own_scripts_may_run():
    text = html_text(table_of(blocks("torch") + blocks("jax", reason=HOSTILE)), HOSTILE)
    parsed = Page(text)
    for tag, name, value in parsed.attributes:
        if name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            assert value.startswith("#"), (tag, name, value)
        assert not name.startswith("on"), (tag, name)
    assert not parsed.tags & {"link", "img", "iframe", "object", "embed", "base"}
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style and "@import" not in style and ":root" in style
    policy = next(value for tag, name, value in parsed.attributes if "default-src" in value)
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy
    scripts = policy[policy.index("script-src") :]
    data = parsed.attributes.count(("script", "type", "application/json"))
    assert (
        "unsafe-inline" not in scripts
        and scripts.count("'sha256-") == len(parsed.scripts) - data + 1
    )  # all but the data, and the script that is compressed among them


def test_hostile_text_is_escaped_wherever_it_comes_from():
    bad = record(HOSTILE, "check_failed", HOSTILE, passed=False)
    warned = record(HOSTILE, neurons=512).model_copy(
        update={"warnings": [HOSTILE], "stderr_tail": HOSTILE, "memory_meaning": HOSTILE}
    )
    for block in (warned.adapter, warned.environment, warned.machine, warned.facts, warned.measure):
        block["hostile"] = HOSTILE
    warned.facts["output_dtype"] = warned.machine["cpu"] = warned.environment[
        "python"
    ] = warned.adapter["version"] = HOSTILE
    text = html_text(table_of([bad, warned]), HOSTILE, [HOSTILE])
    parsed = Page(text)
    assert "<img src='http" not in text and not parsed.tags & {"img"}
    assert text.count("<script") == text.count("</script") == len(parsed.scripts)
    quoted = [value for _, _, value in parsed.attributes if "script>" in value]
    assert quoted and all(
        HOSTILE in value for value in quoted
    )  # whole inside one attribute: no quote got out
    assert parsed.text.count(HOSTILE) >= 10
    assert not any(
        "<" in script
        for script in parsed.scripts[
            : parsed.attributes.count(("script", "type", "application/json"))
        ]
    )
    data = json.loads(parsed.scripts[0])
    assert HOSTILE in data["variants"] and data["same"]["framework"] == HOSTILE


def test_every_case_is_in_the_map_with_its_status_and_reason():
    others = [status for status in STATUSES if status != "ok"]
    records = [
        unmeasured(f"f-{status}", status, neurons=size) for status in others for size in (128, 256)
    ] + blocks("torch")
    parsed = page(records)
    coverage, endings = parsed.of("coverage")
    assert coverage[0] == ["framework", "N = 128", "N = 256"]
    lines = {line[0]: line[1:] for line in coverage[1:]}
    assert lines == {f"f-{status}": [status, status] for status in others} | {
        "torch": ["–", "ok #1"]
    }
    titles = [value for tag, name, value in parsed.attributes if (tag, name) == ("td", "title")]
    for status in others:
        for size in (128, 256):
            assert f"f-{status} · N = {size}: {status}: why f-{status} is {status}" in titles
        assert [
            f"f-{status}",
            status,
            f"why f-{status} is {status}",
            "N = 128 N = 256",
            "",
        ] in endings
    assert {*STATUSES} == {*KINDS} == {*MEANINGS}


def lines_of(parsed: Page) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Returns the headings of the table of all cases, and each line by its framework."""
    head, *lines = parsed.of("table")[0]
    return head, {line[0]: dict(zip(head, line, strict=True)) for line in lines}


def test_a_column_without_a_value_is_not_there():
    head, _ = lines_of(page([*blocks("torch"), *blocks("jax")]))
    assert {"forward", "backward", "inference"} <= {*head} and "reason" not in head
    records = [one for name in ("torch", "jax") for one in blocks(name)]
    for one in records:
        one.parts = {
            part: value
            for part, value in one.parts.items()
            if part not in ("forward", "backward", "inference")
        }
    head, _ = lines_of(page(records))
    assert "step" in head and not {"forward", "backward", "inference", "optimizer"} & {*head}


def test_numbers_are_those_of_the_csv():
    table = table_of(blocks("torch") + blocks("jax", step=0.011))
    _, lines = lines_of(Page(html_text(table, "experiment")))
    for entry in table.entries:
        values, shown = entry.values, lines[entry.variant]
        assert shown["#"] == str(values["rank_low"]) == str(values["rank_high"])
        assert shown["× best"].split()[0] == f"{values['ratio']:.2f}×"
        assert shown["95 % interval"] == units.seconds_between(
            values["step_lo_s"], values["step_hi_s"]
        )
        assert [shown[phase] for phase in USUAL_PHASES] == [
            units.seconds(values[f"{phase}_s"]) for phase in USUAL_PHASES
        ]
        for phase in USUAL_PHASES:
            for kind, word in (("peak", "peak"), ("extra", "beyond")):
                assert (
                    shown[f"{phase} {word}"]
                    == units.size(values[f"{phase}_{kind}_memory_bytes"])
                    != ""
                )
        for name in ("import", "build", "compile", "first call"):
            assert shown[name] == units.seconds(values[f"{name.replace(' ', '_')}_s"]) != ""
        assert (
            shown["until return"]
            == units.share(values["step_enqueue_s"] / values["step_s"])
            == "50.0%"
        )
        assert shown["of the floor"] == units.share(values["roofline"])
        assert (shown["blocks"], values["slots"], values["disturbed_share"]) == ("3", 18, 0)
        assert [shown[name] for name in ("verdict", "wrong decisions", "spikes that differ")] == [
            "proved",
            "0.0001 %",
            "0 %",
        ]
        assert shown["gradient error"] == units.error(values["grad_error"]) == "4.8e-07"
        assert [shown["firing rate"], shown["output"]] == [
            units.share(values["firing_rate"]),
            values["output_dtype"],
        ]
        assert [shown["meaning"], shown["status"]] == [values["memory_meaning"], "ok"]


def test_a_screen_reader_finds_captions_scopes_and_buttons():
    text = html_text(table_of(blocks("torch") + blocks("jax", neurons=97)), "experiment")
    for table in re.findall(r'<table id="cases".*?</table>', text, re.S):
        assert "<caption>" in table and 'scope="row"' in table
        heads = re.findall(r"<th [^>]*scope=.col.[^>]*>\s*(<\w+)", table[: table.index("</thead>")])
        assert heads and set(heads) == {
            "<button"
        }  # a heading sorts, so that the keyboard must reach it


def test_what_may_not_be_ranked_has_no_rank_and_says_why():
    broken = record("norse", "timeout", "no end after 600 s")
    refused = record("spyx", "check_failed", "decays once too often", passed=False)
    lost = record("sinabs", block=1)  # the record of its proof is gone
    parsed = page([*blocks("torch"), broken, refused, lost])
    _, lines = lines_of(parsed)
    assert {name: line["#"] for name, line in lines.items()} == {
        "torch": "1",
        "norse": "",
        "spyx": "",
        "sinabs": "",
    }
    assert (lines["norse"]["step"], lines["norse"]["forward"]) == (
        "timeout",
        "1.62 ms",
    )  # its good phase is shown
    assert (
        not lines["spyx"]["forward"] and lines["spyx"]["reason"] == "decays once too often"
    )  # a wrong network's is not
    assert not lines["sinabs"]["step"] and "no proof" in lines["sinabs"]["reason"]
    assert "decays once too often" in parsed.text.split("Refused")[-1]
    assert ["sinabs", "ok, not ranked"] in parsed.of("coverage")[0]


def test_a_refused_time_is_refused_for_its_own_reason():
    longer, faster = "calls that may be judged take longer", "below the floor"
    refused = [record("norse", "implausible", longer), record("spyx", "implausible", faster)]
    parsed = page([*blocks("torch"), *refused])
    text = " ".join(parsed.text.split())
    assert (
        "2 cases refused because a time cannot be true (implausible)." in text
        and "faster than the hardware" not in text
    )
    assert f"norse: {longer}" in text and f"spyx: {faster}" in text
    assert "refused: the time cannot be true, for the reason given with the case" in text


def test_the_trust_box_says_what_the_data_say():
    noisy = blocks("jax", step=0.011)
    disturbed(noisy, every=3)
    slow = record("spyx", step=0.012).model_copy(update={"overhead_s": 0.75})
    records = [*blocks("torch"), *noisy, slow, record("norse", "implausible", "too fast")]
    text = " ".join(page(records, unreadable=["x.json is not a record"]).text.split())
    for sentence in (
        "3 of 4 cases ranked.",
        "1 case refused because a time cannot be true (implausible): too fast.",
        "Disturbed (1 of 3 ranked rows)",
        "6 of 42 slots of the step were disturbed",
        "All rows of a group were alive at once",
        "CPU time of the process, all threads",
        "took 160 ms (median) and at most 750 ms per case and block",
        "Starting a process that does nothing takes 120 ms",
        "Left out: 1 file that could not be read.",
        "x.json is not a record",
        "Warnings of the frameworks There were none. Reasons to doubt the figures are at the head.",
    ):
        assert sentence in text
    assert "refused because the proof failed" not in text


def test_a_flag_of_most_rows_is_a_reason_to_doubt():
    flagged = [r for name in ("jax", "torch", "norse") for r in blocks(name)]
    disturbed(flagged[:6], every=3)
    table = table_of(flagged)
    (sentence,) = [
        one for one in trust(table, [], []) if one["text"].startswith("Disturbed (2 of 3")
    ]
    assert sentence["kind"] == "doubt"
    for entry in table.entries[:2]:
        entry.values["quality"] = ""
    assert "doubt" not in [one["kind"] for one in trust(table, [], [])]


@pytest.mark.parametrize("longer, flagged", [(1.005, False), (1.3, True)])
def test_a_step_that_surely_takes_less_than_its_backward_is_flagged(longer, flagged):
    def with_backward(record):
        slots = [
            slot.model_copy(update={"wall": longer * slot.wall})
            for slot in record.timing("step").slots
        ]
        timing = record.timing("step").model_copy(update={"slots": slots})
        backward = record.parts["backward"].model_copy(update={"timing": timing})
        return record.model_copy(update={"parts": {**record.parts, "backward": backward}})

    (row,) = rows_of([with_backward(record) for record in blocks("torch", noise=0.01)])
    assert ("phases_disagree" in row.quality) == flagged


def test_the_floor_is_one_for_all_rows_of_a_group():
    def with_floor(record, seconds):
        step = record.parts["step"].model_copy(update={"floor_s": seconds})
        return record.model_copy(update={"parts": {**record.parts, "step": step}})

    low = [
        with_floor(record, seconds)
        for record, seconds in zip(blocks("jax", 2), (3e-4, 1e-4), strict=True)
    ]
    rows = rows_of(
        low + [with_floor(record, 2e-4) for record in blocks("torch")] + blocks("norse", neurons=97)
    )
    assert {row.case.framework: row.floors["step"] for row in rows} == pytest.approx(
        {"jax": 1e-4, "torch": 1e-4, "norse": 2.8e-4}
    )


def test_the_workloads_explained_are_those_of_the_rows():
    text = " ".join(page(blocks("torch", workload="lif")).text.split())
    assert "lif: Leaky integrate-and-fire neurons alone" in text and "linear-lif" not in text


@pytest.mark.parametrize("records", [[], [unmeasured("torch", "crash")]])
def test_little_or_nothing_to_show(records):
    parsed = page(records)
    assert "experiment" in parsed.text
    assert not re.search(r"\b(nan|None|inf)\b", parsed.text)


def group(**fields) -> list:
    """Two nearly equal cases and a slow one."""
    steps = {"jax": 0.002, "torch": 0.002004, "norse": 0.003}
    return [
        one
        for name, step in steps.items()
        for one in blocks(name, step=step, noise=0.005, **fields)
    ]


def test_a_tie_for_the_best_is_shaded_and_a_rank_names_surely_slower_cases():
    text = html_text(table_of(group()), "experiment")
    _, lines = lines_of(Page(text))
    assert {name: line["#"] for name, line in lines.items()} == {
        "jax": "=1–2",
        "torch": "=1–2",
        "norse": "3",
    }
    assert re.fullmatch(r"1\.\d\d× \(1\.\d\d–1\.\d\d\)", lines["norse"]["× best"])
    assert text.count('class="leading"') == 2 and text.count('title="surely slower: norse"') == 2
    table = table_of(group())
    points = next(
        panel for panel in figure(table, "times").panels if panel.where["phase"] == "step"
    ).points
    assert [(point["leading"], point["slower"]) for point in points] == [
        (True, "norse"),
        (True, "norse"),
        (False, ""),
    ]


def test_one_block_decides_nothing_and_the_page_says_so():
    text = " ".join(page(group(count=1)).text.split())
    assert (
        "One block only: how much one process, or one minute, differs from the next is unknown."
        in text
    )
    assert "3 rows in groups without a decided rank (one block)." in text
    assert text.count("=1–3") >= 3


def test_cases_that_were_timed_one_after_the_other_are_doubted():
    text = " ".join(page(group(alive=None)).text.split())
    assert (
        "3 ranked rows timed one after the other, not in turns" in text
        and "alive at once" not in text
    )


def test_a_native_case_is_not_green_in_the_map():
    text = html_text(table_of([*blocks("torch"), *blocks("norse", neuron=NATIVE)]), "experiment")
    kinds = dict(re.findall(r'<td class="([a-z-]+)" title="(torch|norse)', text))
    assert {name: kind for kind, name in kinds.items()} == {"torch": "ok", "norse": "limit"}
    _, lines = lines_of(Page(text))
    assert (lines["norse"]["verdict"], lines["torch"]["verdict"]) == ("right time axis", "proved")
