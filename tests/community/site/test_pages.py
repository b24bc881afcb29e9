"""The files of a site: contents, escaping, and limits of size."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from support.sites import loading, many_rows, of_version, source, three_by_three
from support.slow import representatives
from support.synthetic import HOSTILE, blocks, record, unmeasured

from snnbench.common import units
from snnbench.community.site.data import OF_A_STEP, TOTAL, _short
from snnbench.community.site.frameworks import in_words
from snnbench.community.site.pages import site_files
from snnbench.community.site.source import confirmations, framework_of, slug
from snnbench.community.site.standings import comparisons, standings
from snnbench.core.case import NATIVE
from snnbench.kernels.spec import NEURONS


@pytest.fixture(scope="module")
def files():
    return site_files(three_by_three())


def data_in(files: dict[str, str]) -> list[dict]:
    texts = [text for name, text in files.items() if name.startswith("data/")]
    return [
        json.loads(re.fullmatch(r'snnbench\.add\("[0-9a-f]{12}",(.*)\);\n', text)[1])
        for text in texts
    ]


def words(page: str) -> str:
    found: list[str] = []
    parser = HTMLParser()
    parser.handle_data = found.append
    parser.feed(page)
    return " ".join(" ".join(found).split())


def test_there_is_a_page_for_each_framework_and_machine(files):
    assert {name.partition("/")[0] for name in files} >= {
        "index.html",
        "machine",
        "framework",
        "badge",
        "data",
        "method.html",
    }
    assert len([name for name in files if name.startswith("machine/")]) == 3
    assert {"framework/snntorch.html", "badge/snntorch.json", "coverage.html"} <= files.keys()


def test_a_verdict_by_version(files):
    page = words(files["framework/snntorch.html"])
    assert "hard : rejected ≤ 0.7.0, proved ≥ 0.8.1" in page
    assert "soft : proved in 0.7.0 – 1.0.0" in page
    assert "resets like `soft`, not `hard`" in files["framework/snntorch.html"].replace(
        "&#39;", "'"
    )
    assert in_words({"1.0": "proved"}) == "proved in 1.0"
    assert (
        in_words({"1": "proved", "2": "rejected", "3": "proved"})
        == "proved ≤ 1, rejected in 2, proved ≥ 3"
    )


def test_the_numbers_are_those_of_the_rows(files):
    known = {
        row.first.machine["cpu"]: source
        for source in three_by_three()
        for row in source.rows
        if source.by == "neuro"
    }
    assert len(known) == len(data_in(files)) == 3
    for data in data_in(files):
        rows = [
            row
            for source in three_by_three()
            for row in source.rows
            if row.first.machine["cpu"] in data["label"]
        ]
        seconds = sorted(row.estimates["step"].seconds for row in rows if row.sound)
        assert data["columns"]["step"] and sorted(data["columns"]["step"]) == pytest.approx(
            [1e6 * one for one in seconds], rel=1e-3
        )
        for step, low, high in zip(
            *(data["columns"][name] for name in ("step", "low", "high")), strict=True
        ):
            assert 0 <= low < TOTAL and high >= 0 and step > 0
        assert sum(data["counts"]) == len(data["columns"]["step"])
        assert len(data["others"]) == sum(not row.sound for row in rows)


def test_another_submitter_confirms(files):
    sources = three_by_three()
    found = confirmations(sources)
    assert sorted(found.values()) == [1, 1], "of both that found the same"
    assert sum(len(data["confirmed"]) for data in data_in(files)) == 2
    assert confirmations(sources[:3]) == {}, "the same person confirms nothing"


def test_rows_of_two_bundles_are_never_in_one_comparison():
    one, two = (source(blocks(name, neurons=97), by=name) for name in ("torch", "norse"))
    (data,) = data_in(site_files([one, two]))
    assert data["counts"] == [1, 1]
    assert data["columns"]["best"] == [1, 1]


def test_two_machines_of_a_kind_in_one_bundle_are_both_described():
    """A run may have had parts on two nodes of a cluster."""
    here, there = blocks("torch", neurons=97), blocks("norse", neurons=97)
    for one in there:
        one.machine["node"] = "9" * 12
    (data,) = data_in(site_files([source([*here, *there], by="x")]))
    (axis,) = [axis for axis in data["axes"] if axis["name"] == "source"]
    assert len(axis["values"]) == 2 and {*axis["values"]} == data["sources"].keys()


def test_a_badge_says_what_is_proved_and_no_rank(files):
    assert json.loads(files["badge/snntorch.json"]) == {
        "schemaVersion": 1,
        "label": "snnbench",
        "message": "proved 2 neurons",
        "color": "brightgreen",
    }
    assert "snnbench: proved 2 neurons" in files["framework/snntorch.html"]


def test_a_badge_does_not_count_the_neurons_of_others():
    """`soft-undecayed` is Spyx's; other frameworks do not lack it."""
    records = [
        *blocks("spyx", neurons=97),
        *blocks("spyx", neurons=97, neuron=NEURONS["soft-undecayed"]),
    ]
    records += [
        *blocks("norse", neurons=97),
        unmeasured("norse", "unsupported", neurons=97, neuron=NEURONS["soft-undecayed"]),
    ]
    records += blocks("norse", neurons=97, neuron=replace(NEURONS["soft"], decay=0.5))
    files = site_files([source(records)])
    badges = [json.loads(files[f"badge/{name}.json"]) for name in ("spyx", "norse")]
    assert [(badge["message"], badge["color"]) for badge in badges] == [
        ("proved 2 neurons", "brightgreen"),
        ("proved 1 neuron", "brightgreen"),
    ]


def test_an_untried_framework_does_not_fail():
    """Missing installations are neither refusals nor red; the reasons stand on the page."""
    records = [*blocks("torch", neurons=97), unmeasured("sinabs-exodus", "env_error", neurons=97)]
    records += [
        unmeasured("bindsnet", "unsupported", neurons=97),
        unmeasured("sinabs", "crash", neurons=97),
    ]
    versionless = {"sinabs-exodus", "bindsnet"}
    records = [
        of_version([one], None)[0] if one.adapter["name"] in versionless else one for one in records
    ]
    files = site_files([source([*records, *blocks("tonic", **loading())])])
    badges = {
        name: json.loads(files[f"badge/{name}.json"])
        for name in ("sinabs-exodus", "bindsnet", "sinabs", "tonic")
    }
    assert {name: (badge["message"], badge["color"]) for name, badge in badges.items()} == {
        "sinabs-exodus": ("not tried", "lightgrey"),
        "bindsnet": ("not offered", "lightgrey"),
        "sinabs": ("0 proved, 1 failed", "red"),
        "tonic": ("proved batches of data", "brightgreen"),
    }
    untried, refused = (
        words(files[f"framework/{name}.html"]) for name in ("sinabs-exodus", "bindsnet")
    )
    assert "soft : not tried " in untried and "soft : not offered " in refused
    assert "unknown version" not in untried + refused
    assert (
        "What was not tried, and why why sinabs-exodus is env_error sinabs-exodus: 1 case"
        in untried
    )
    assert "cannot do" not in untried and "not tried" not in refused
    line = re.search(r"<tr>.*sinabs-exodus.*\n(.*)", files["coverage.html"])[1]
    assert (
        line
        == '<td class="muted" title="why sinabs-exodus is env_error">not tried</td><td></td></tr>'
    )
    assert in_words({"": "not tried", "1.0": "proved"}) == "proved in 1.0"


def test_only_comparisons_with_the_same_others_are_summarised_together():
    """A framework takes 9 times as long as the fastest of many, and 1.4 times as long as a plain
    loop alone."""
    many = [
        one
        for size in (97, 193)
        for name, step in (("jax", 1e-3), ("torch", 6e-3), ("snntorch", 9e-3))
        for one in blocks(name, step=step, neurons=size)
    ]
    control = [
        *blocks("torch", step=6e-3, neurons=31),
        *blocks("snntorch", step=8.4e-3, neurons=31),
    ]
    alone = blocks("snntorch", step=8.4e-3, neurons=61)
    sources = [source(many, name="many"), source([*control, *alone], name="history")]
    rows = [row for each in sources for row in each.rows if framework_of(row) == "snntorch"]
    summarised, omitted = standings(rows, comparisons(sources))
    lines = {line["against"]: line for line in summarised}
    assert {
        against: (line["count"], line["first"], line["median"]) for against, line in lines.items()
    } == {
        "jax and torch": (2, "0 of 2", "9.00"),
        "torch": (1, "0 of 1", "1.40"),
    }
    assert omitted == "1 comparison without another case"
    assert "jax and torch 2 0 of 2 9.00" in words(site_files(sources)["framework/snntorch.html"])


def empty_rows(page: str) -> list[str]:
    """Returns the heads of rows in which every other cell is empty."""
    rows = [
        [words(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    ]
    return [head for head, *cells in rows if cells and not any(cells)]


def test_no_row_of_a_table_is_empty():
    """Comparisons that are not decided or that have one case, and frameworks of which only the
    neuron of their own was requested, have no row: they had empty ones."""
    records = [*blocks("torch", neurons=97), *blocks("norse", neurons=31, neuron=NATIVE)]
    records += blocks("jax", neurons=193, count=1) + blocks("spyx", neurons=193, count=1)
    files = site_files([*three_by_three(), source(records, name="rest")])
    pages = {name: text for name, text in files.items() if name.endswith(".html")}
    assert {name: empty_rows(text) for name, text in pages.items() if empty_rows(text)} == {}
    assert "Not summarised: 1 comparison not decided" in words(files["framework/jax.html"])
    files = site_files([source(blocks("norse", neurons=31, neuron=NATIVE))])
    page = words(files["framework/norse.html"])
    assert "Only its own neuron was requested" in page and "Nothing was ranked." in page
    assert "<td>" not in files["framework/norse.html"] + files["coverage.html"]
    assert empty_rows("<tr><th>torch</th><td></td><td> </td></tr>") == ["torch"]


def test_texts_of_others_stay_texts():
    refused = record(HOSTILE, "check_failed", HOSTILE, passed=False, neurons=97)
    files = site_files(
        [
            source(
                [*blocks(HOSTILE, neurons=97), *blocks("torch", neurons=97), refused],
                by="x",
                note=HOSTILE,
                name=HOSTILE,
            )
        ]
    )
    for name, text in files.items():
        assert "<script>alert" not in text and "<img src='http" not in text, name
        assert re.fullmatch(r"[a-z0-9./-]+", name), name
    assert "{{ 7*7 }}" in files["method.html"], "nothing is computed of it"
    (data,) = data_in(files)
    assert {f"framework/{page}.html" for page in data["pages"]} <= files.keys()


@pytest.mark.parametrize("rows", representatives([400, 7000], []))
def test_rows_are_small(rows):
    """Seven thousand rows of a machine are within 500 kB; the start page is within 300 kB."""
    files = site_files([many_rows(rows)])
    (text,) = [text for name, text in files.items() if name.startswith("data/")]
    (data,) = data_in(files)
    assert sum(data["counts"]) == rows
    assert all(data["columns"]["low"]), "each has an interval"
    assert len(text) / rows <= 500_000 / 7000, f"{len(text) / rows:.1f} bytes a row"
    start = sum(
        len(files[name].encode()) for name in ("index.html", "site.css", "site.js", "answer.js")
    )
    assert start <= 300_000


def test_links_lead_to_files_and_nothing_elsewhere(files):
    for name, text in files.items():
        if name.endswith(".html"):
            for link in re.findall(r'(?:href|src)="([^"#]*)', text):
                parts = [*name.split("/")[:-1], *link.split("/")]
                while ".." in parts:
                    at = parts.index("..")
                    del parts[at - 1 : at + 1]
                assert "/".join(parts) in files, (name, link)
    assert not any(
        "http" in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
        for text in files.values()
    )


def test_a_name_of_a_file():
    assert slug("rockpool-jax") == "rockpool-jax"
    assert slug("../etc/Passwd") != slug("etc-passwd")
    assert re.fullmatch(r"[a-z0-9-]+", slug("日本"))


def test_a_version_that_is_none_does_not_matter():
    records = of_version(blocks("mine", neurons=97), "nightly")
    assert "proved in nightly" in words(site_files([source(records)])["framework/mine.html"])


@pytest.mark.parametrize("value", [6.38504e-3, 610.496e-6, 1.2345001])
def test_a_time_reads_as_in_a_report(value):
    """Rounded to four digits and then to three, 6.38504 ms would be 6.38 ms."""
    assert units.seconds(_short(1e6 * value, OF_A_STEP) / 1e6) == units.seconds(value)


def test_the_method_says_what_the_neurons_are(files):
    assert all(f"<dt>{name}</dt>" in files["method.html"] for name in ("soft", "hard", "none"))
    assert 'href="method.html"' in files["coverage.html"].partition("<main>")[2]
