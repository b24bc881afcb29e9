"""The table of claims has no empty verdict, and none that is anybody's opinion. That it is made from records: test_readme.py."""

from math import inf

import pytest
from support.claims_table import Claim, claims_of, claims_text
from support.paths import ROOT

PAGE = ROOT / "docs" / "claims.md"


def test_no_verdict_is_empty():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and "| :--" not in line][1:]
    assert len(rows) == len(claims_of()) >= 12
    verdicts = [row.rsplit("|", 2)[1].strip() for row in rows]
    assert all(verdict.startswith(("reproduced", "not reproduced, because ", "needs ")) for verdict in verdicts)


def test_all_five_systems_are_in_it():
    assert {claim.system.split()[0] for claim in claims_of()} == {"Lenz", "Liang", "Li", "Sun", "Open"}


@pytest.mark.parametrize(
    ("claim", "interval", "verdict"),
    [
        ({"least": 2.0}, (2.1, 2.3), "reproduced"),
        ({"least": 2.0}, (1.9, 2.1), "not reproduced, because the interval holds both"),
        ({"least": 2.0, "because": "of this"}, (1.2, 1.3), "not reproduced, because of this"),
        ({"most": 0.4}, (0.3, 0.3), "reproduced"),
        ({"most": 0.4, "because": "of that"}, (0.5, 0.5), "not reproduced, because of that"),
    ],
)
def test_a_verdict_follows_from_the_interval(claim, interval, verdict):
    assert Claim("s", "says", "p", **claim).verdict(*interval) == verdict


def test_what_is_neither_measured_nor_out_of_reach_is_refused():
    with pytest.raises(AssertionError, match="neither measured nor needs"):
        claims_text([Claim("s", "says", "p")])
    with pytest.raises(AssertionError, match="does not say why"):
        Claim("s", "says", "p", least=2.0).verdict(1.0, 1.5)
    assert Claim("s", "says", "p").most == inf
