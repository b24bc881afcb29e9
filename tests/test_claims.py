"""Every claim has a verdict that follows from records; test_readme.py holds the page to them."""

import re
from math import inf

import pytest
from support.claims_pairs import Pair, Shown, conditions_of, pairs_of, quality_of, times
from support.claims_table import Claim, claims_of, claims_text
from support.paths import ROOT, committed

from snnbench.report.files import read_results

PAGE = ROOT / "docs" / "claims.md"


def test_no_verdict_is_empty():
    verdicts = re.findall(
        r"^### .+\n\n\*\*(.+)\*\*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(verdicts) == len(claims_of()) >= 12
    assert all(
        verdict.startswith(("reproduced", "not reproduced, because ", "undecided: ", "needs "))
        for verdict in verdicts
    )


def test_the_summary_counts_every_verdict():
    summary, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## ")
    rows = [line.split(" | ")[1:] for line in summary.splitlines() if line.startswith("| ")][2:]
    assert sum(int(cell) for row in rows for cell in re.findall(r"\d+", " ".join(row))) == len(
        claims_of()
    )


def test_all_five_systems_are_in_it():
    assert {claim.system.split()[0] for claim in claims_of()} == {
        "Lenz",
        "Liang",
        "Li",
        "Sun",
        "Open",
    }


@pytest.mark.parametrize(
    ("claim", "interval", "verdict"),
    [
        ({"least": 2.0}, (2.1, 2.3), "reproduced"),
        ({"least": 2.0}, (1.9, 2.1), "undecided: the interval holds both"),
        ({"least": 2.0, "because": "of this"}, (1.2, 1.3), "not reproduced, because of this"),
        ({"most": 0.4}, (0.3, 0.3), "reproduced"),
        ({"most": 0.4, "because": "of that"}, (0.5, 0.5), "not reproduced, because of that"),
    ],
)
def test_a_verdict_follows_from_the_interval(claim, interval, verdict):
    assert Claim("s", "says", "p", **claim).verdict([interval]) == verdict


def test_what_is_neither_measured_nor_out_of_reach_is_refused():
    with pytest.raises(AssertionError, match="neither measured nor needs"):
        claims_text([Claim("s", "says", "p")])
    with pytest.raises(AssertionError, match="does not say why"):
        Claim("s", "says", "p", least=2.0).verdict([(1.0, 1.5)])
    assert Claim("s", "says", "p").most == inf


@pytest.mark.parametrize(
    ("claim", "intervals", "verdict"),
    [
        (
            {"least": 5.0, "because": "of T = 2"},
            [(10.0, 12.0), (2.7, 3.1)],
            "not reproduced, because of T = 2",
        ),
        ({"least": 5.0}, [(10.0, 12.0), (4.9, 5.2)], "undecided: the interval holds both"),
        ({"least": 5.0, "up_to": True}, [(10.0, 12.0), (2.7, 3.1)], "reproduced"),
        ({"least": 5.0, "up_to": True, "remark": "by one"}, [(10.0, 12.0)], "reproduced, by one"),
        (
            {"least": 5.0, "up_to": True},
            [(4.9, 5.2), (2.7, 3.1)],
            "undecided: the interval holds both",
        ),
        (
            {"least": 5.0, "up_to": True, "because": "of all"},
            [(4.0, 4.5), (2.7, 3.1)],
            "not reproduced, because of all",
        ),
        (
            {"most": 1.05, "because": "of one"},
            [(0.9, 1.0), (2.2, 2.8)],
            "not reproduced, because of one",
        ),
    ],
)
def test_the_weakest_row_decides_but_of_up_to_the_strongest(claim, intervals, verdict):
    assert Claim("s", "says", "p", **claim).verdict(intervals) == verdict
    shown = [Shown(Pair(None, None), sum(ends) / 2, *ends) for ends in intervals]
    weakest = "most" in claim or "up_to" in claim
    assert Claim("s", "says", "p", **claim).decisive(shown).high == (max if weakest else min)(
        high for _, high in intervals
    )


def test_an_interval_is_the_one_of_the_tables():
    table = read_results([committed("training")]).table
    how = {
        "set": "training",
        "case": {},
        "ours": "fused",
        "theirs": ["torch:vanilla", "jax", "spikingjelly"],
    }
    shown = times(table, pairs_of(table, how), "step")
    assert len(shown) == 8
    for one in shown:
        standing = one.pair.theirs.row.standing
        assert (one.figure, one.low, one.high) == pytest.approx(
            (standing.ratio, standing.low, standing.high)
        )
    (turned,) = times(table, [Pair(shown[0].pair.theirs, shown[0].pair.ours)], "step")
    assert turned.figure == pytest.approx(1 / shown[0].figure), (
        "a pair without the fastest as its first"
    )


def test_every_condition_and_remark_is_said():
    table = read_results([committed("time-steps")]).table
    pairs = pairs_of(table, {"set": "time-steps", "case": {}, "ours": "fused", "theirs": "norse"})
    words = conditions_of([pair.ours for pair in pairs])
    assert words.startswith(
        "neuron hard · lif · fp32 · N = 512 · T = 2, 8, 32, 128, 512 · B = 16 · 1 core · Intel"
    )
    assert quality_of(pairs) == "2–3 blocks, few blocks, drift, unsteady machine"
    with pytest.raises(AssertionError, match=r"no proved pair of fused with \['rockpool'\]"):
        pairs_of(
            table,
            {"set": "time-steps", "case": {}, "ours": "fused", "theirs": ["norse", "rockpool"]},
        )
