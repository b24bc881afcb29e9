"""report.html in a real browser: nothing overlaps, is cut or empty; filters, sorting, export and
links work."""

import csv
import io
from pathlib import Path
from time import perf_counter

import pytest
from playwright.sync_api import expect
from support.slow import representatives

from snnbench.common import units
from snnbench.report.table import Table, csv_text

LOOK = (Path(__file__).parent / "look_at_page.js").read_text()
"""Returns sentences on what is wrong with a page as it is shown."""

LOOKS = [
    *[("quickstart", width, ("light", "dark")) for width in (1400, 390)],
    ("example", 1400, ("light",)),
    ("example", 390, ("dark",)),
    ("training", 1400, ("light",)),
    ("training", 390, ("dark",)),
]


@pytest.mark.parametrize("name, width, schemes", representatives(LOOKS, [1, 2, 5]))
def test_nothing_overlaps_is_cut_or_empty(visit, name, width, schemes):
    seen = visit(name, width=width, scheme=schemes[0])
    for scheme in schemes:
        if scheme != schemes[0]:
            seen.switch(scheme)
        seen.draw()
        assert seen.page.locator(".plot").count() > 5
        assert seen.page.evaluate(LOOK, [width, scheme]) == []
    assert seen.heard == []


@pytest.mark.parametrize("width", [1400, 390])
def test_the_winner_map_has_room_for_long_names(visit, width):
    seen = visit("long names", width=width)
    seen.draw("winners")
    words = "".join(seen.words("winners"))
    assert "matterhorn-" in words and "recurrence" in words and "tie:" in words and "…" not in words
    room = seen.page.evaluate("""() => {
      const plots = [...document.querySelectorAll("[data-figure=winners] .plot")];
      const box = (element) => element.getBoundingClientRect();
      return plots.map((plot) => {
        const cells = [...plot.querySelectorAll(".mark-rect path")].map(box);
        const texts = [...plot.querySelectorAll(
          ".mark-text.layer_1_marks text, .mark-text.layer_2_marks text")].map(box);
        const inside = (text) => cells.some((cell) => cell.left <= text.left
          && text.right <= cell.right && cell.top <= text.top && text.bottom <= cell.bottom);
        return [plot.scrollWidth <= plot.clientWidth, texts.length, texts.every(inside)];
      });
    }""")
    assert room == [[True, 16, True]]
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("name", representatives(["quickstart", "example"], [1]))
def test_the_table_has_one_line_for_a_case_and_fits_a_wide_window(visit, name):
    seen = visit(name)
    for view in ("times", "memory", "start", "proof"):
        seen.page.locator(f"[data-view={view}]").click()
        assert seen.table() == {"overflows": False, "heights": 1}, view


def test_the_table_scrolls_in_a_narrow_window_and_the_page_does_not(visit):
    seen = visit("quickstart", width=390)
    assert (
        seen.table()["overflows"]
        and seen.page.evaluate("document.documentElement.scrollWidth") == 390
    )
    ratio = seen.page.locator("#cases tbody tr").nth(1).get_by_text("×").bounding_box()
    assert ratio["x"] + ratio["width"] <= 390, "the ratio is seen without scrolling"


@pytest.mark.parametrize("width", [1400, 390])
def test_the_ranked_table_is_right_behind_the_answer(visit, width):
    seen = visit("example", width=width)
    line, figure = seen.page.locator("#cases tbody tr").first, seen.page.locator("#winners")
    box = line.bounding_box()
    assert box["y"] + box["height"] < 900
    assert figure.bounding_box()["y"] < 2 * 900, "100 lines scroll in a frame"


def test_the_answer_is_first_and_caveats_unfold(visit):
    seen = visit("example")
    answer, caveats = seen.page.locator(".answer .first"), seen.page.locator(".trust > summary")
    assert (
        "fp32: norse:compile has the fastest step in all 12 conditions" in answer.inner_text()
        and seen.titles("winners")[0].endswith("fp32 · step")
    )
    assert (
        caveats.bounding_box()["height"] < 50
        and not seen.page.locator(".trust li").first.is_visible()
    )
    caveats.click()
    assert seen.page.locator(".trust li").first.is_visible()


def test_few_figures_are_drawn_without_being_looked_at(visit):
    """Pictures of the page have them without scrolling."""
    seen = visit("quickstart", width=1400)
    count = seen.page.locator(".plot").count()
    expect(seen.page.locator(".plot:not(.drawn)")).to_have_count(0, timeout=30_000)
    assert 10 < count <= 40 and seen.page.evaluate("scrollY") == 0 and seen.heard == []


def test_hostile_names_do_nothing_but_stand_there(visit):
    seen = visit("hostile", width=390)
    seen.draw()
    seen.page.locator("[data-figure=times] .mark-symbol path").first.hover()
    assert (
        seen.page.locator("img").count() == 0
        and "alert" in seen.page.locator("#cases").inner_text()
    )
    faults = seen.page.evaluate(LOOK, [390, "light"])
    assert [
        fault for fault in faults if "evil" not in fault and "script" not in fault
    ] == []  # such a name has no room
    assert seen.heard == []


def test_the_look_sees_what_is_wrong(visit):
    seen = visit("quickstart")
    seen.draw()
    spoil = """() => {
      const texts = document.querySelectorAll(".plot svg text");
      texts[1].setAttribute("transform", texts[0].getAttribute("transform"));
      texts[1].parentNode.append(texts[0]);
      document.querySelectorAll(".plot svg")[1].style.width = "120px";
      document.querySelectorAll(".plot")[2].replaceChildren();
      document.querySelector("#csv").style.cssText
        = "width: 20px; overflow: hidden; white-space: nowrap";
      document.querySelector("main").insertAdjacentHTML("beforeend",
        '<div style="width: 3000px; height: 1px"></div>');
    }"""
    seen.page.evaluate(spoil)
    faults = "\n".join(seen.page.evaluate(LOOK, [1400, "dark"]))
    for fault in ("overlaps", "is empty", "is cut", "wider than the window", "is not dark"):
        assert fault in faults, faults


def test_filters_and_links(visit, pages):
    seen = visit("example")
    everything = len(seen.lines())
    seen.page.select_option("select[name=neuron]", "neuron soft")
    seen.page.select_option("select[name=precision]", "bf16")
    seen.page.select_option("select[name=time_steps]", "T = 500")
    assert all(
        "neuron soft · bf16" in title and "T = 500" in title for title in seen.titles("times")
    )
    assert seen.titles("winners") == ["neuron soft · bf16 · step"]
    assert (
        0 < len(seen.lines()) < everything
        and "24 of 192 cases" in seen.page.locator("#counted").inner_text()
    )
    seen.page.click("summary:has-text('frameworks')")
    seen.page.click("#variants label:has-text('spikingjelly') input")
    assert set(seen.lines()) == {"spikingjelly"} and len(seen.lines()) == 3
    assert len(seen.titles("winners")) == 1, (
        "the fastest of all does not change with the shown frameworks"
    )
    seen.page.locator("nav a[href='#table']").click()
    assert "#table&" in seen.page.url and "neuron=neuron+soft" in seen.page.url
    link = seen.page.locator("#permalink").get_attribute("href")
    again = visit("hostile")
    again.open(pages("example") + link)
    assert again.lines() == seen.lines() and again.titles("times") == seen.titles("times")
    seen.page.click("button[type=reset]")
    assert len(seen.lines()) == everything and "neuron=" not in seen.page.url
    assert seen.heard == again.heard == []


def test_a_few_answers_are_found_by_looking(visit):
    seen = visit("example")
    for name, text in {
        "neuron": "neuron soft",
        "precision": "bf16",
        "neurons": "N = 1024",
        "time_steps": "T = 500",
    }.items():
        seen.page.select_option(f"select[name={name}]", text)
    seen.draw("winners")
    seen.draw("launch")
    winner = seen.words("winners")
    assert "norse:compile" in winner and any("8.00 MiB" in word for word in winner)
    launch = seen.words("launch")
    assert "spikingjelly" in launch and {"yes", "no", "partly"} & set(launch)
    missing = seen.page.locator("#cases tbody tr:visible", has_text="rockpool").inner_text()
    assert "why rockpool is unsupported" in missing


def test_phase_baseline_and_case(visit, examples):
    seen = visit("example")
    seen.page.select_option("select[name=phase]", "forward")
    seen.page.select_option("select[name=baseline]", "torch")
    seen.draw("times")
    words = seen.words("times")
    soft = [row for row in examples.rows if row.case.neuron_label == "soft"]
    base = (
        next(row for row in soft if row.case.framework_variant == "torch")
        .estimates["forward"]
        .seconds
    )
    fused = (
        next(row for row in soft if row.case.framework_variant == "fused")
        .estimates["forward"]
        .seconds
    )
    ratios = {word.rpartition(" · ")[2] for word in words}
    assert {
        "1.00×",
        units.ratio(fused / base),
    } <= ratios and f"{units.seconds(base)} · 1.00×" in words
    case = seen.page.locator("#case")
    options = case.locator("option").all_inner_texts()
    case.select_option(index=5)
    assert (
        all(title.startswith(options[5]) for title in seen.titles("slots"))
        and len(seen.titles("slots")) == 2
    )
    assert "case=" in seen.page.url and seen.heard == []


def test_sorting_by_click_and_by_keyboard(visit):
    seen = visit("example")
    seen.hold_still()
    seen.page.locator("th[data-column=step_s] button").click()
    head = seen.page.locator("th[data-column=step_s]")
    assert head.get_attribute("aria-sort") == "ascending"
    steps = seen.page.evaluate("""() => [...document.querySelectorAll("#cases tbody tr")]
      .filter((row) => !row.hidden)
      .map((row) => valueOf(+row.dataset.row, "step_s"))""")
    known = [step for step in steps if step is not None]
    assert known == sorted(known) and len(known) > 50
    head.locator("button").press("Enter")
    assert (
        head.get_attribute("aria-sort") == "descending"
        and seen.page.locator("th[aria-sort]").count() == 1
    )
    seen.page.locator("[data-view=memory]").press("Space")
    assert (
        seen.page.locator("th[data-column=step_peak_memory_bytes]").is_visible()
        and not head.is_visible()
    )
    seen.page.fill("#search", "N = 64 T = 500 neuron hard bf16 jax")
    assert seen.lines() == ["jax"]
    seen.page.fill("#search", "unsupported bf16")
    assert set(seen.lines()) == {"rockpool"} and len(seen.lines()) == 12
    assert seen.heard == []


def test_what_is_saved_is_what_is_shown(visit, examples):
    seen = visit("example")
    seen.page.select_option("select[name=neurons]", "N = 256")
    rows = [row for row in examples.rows if row.case.neurons == 256]
    saved = list(csv.DictReader(io.StringIO(seen.saved("#csv").decode())))
    wanted = list(csv.DictReader(io.StringIO(csv_text(Table(rows)))))
    assert len(saved) == len(wanted) and list(saved[0]) == list(wanted[0])
    for got, meant in zip(saved, wanted, strict=True):
        for column, value in meant.items():
            same = got[column] == value or float(got[column]) == float(value)
            assert same, (column, got[column], value)
    assert seen.saved("[data-figure=times] .save button >> nth=0").startswith(b"\x89PNG")
    drawing = seen.saved("[data-figure=times] .save button >> nth=1").decode()
    assert drawing.startswith("<svg") and "spikingjelly" in drawing
    assert "Time per call" in drawing and seen.titles("times")[0] in drawing
    assert seen.heard == []


@pytest.mark.slow
def test_two_thousand_cases_open_in_three_seconds_and_stay_usable(visit):
    clocks = []

    def watch(page):
        clocks.append(page.context.new_cdp_session(page))
        clocks[0].send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        """Returns seconds of CPU of the page; a busy machine distorts the wall clock."""
        return {
            each["name"]: each["value"]
            for each in clocks[0].send("Performance.getMetrics")["metrics"]
        }["TaskDuration"]

    start = perf_counter()
    seen = visit("many", before=watch)
    seen.page.locator("[data-figure=winners]").scroll_into_view_if_needed()
    seen.page.locator("[data-figure=winners] svg").first.wait_for()
    wall, opening = perf_counter() - start, busy()
    seen.page.select_option("select[name=precision]", "fp16")
    seen.page.locator("[data-figure=winners] svg").first.wait_for()
    filtering = busy() - opening
    print(
        f"opening: {opening:.2f} s of CPU, {wall:.2f} s on the wall; filtering: {filtering:.2f} s "
        "of CPU"
    )
    assert 0.05 < opening < 3 and 0 < filtering < 1
    assert "400 of 2000" in seen.page.locator("#counted").inner_text()
    seen.page.locator("#all").click()
    assert len(seen.lines()) == 400 and seen.heard == []
