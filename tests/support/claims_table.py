"""The table of claims: what systems have claimed, what the committed records say, and a verdict that follows from both."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, log
from pathlib import Path
from typing import Any

from snnbench.common import units
from snnbench.report.files import read_results
from snnbench.report.tables.markdown import line, plain

from .claims_pairs import Shown, conditions_of, differing, pairs_of, quality_of, shares, times
from .paths import ROOT

CLAIMS = ROOT / "results" / "published" / "claims.toml"
HEAD = ("system", "claim", "as published", "here", "conditions", "quality", "verdict")


@dataclass
class Claim:
    """One entry of claims.toml."""

    system: str
    says: str
    published: str
    needs: str = ""
    least: float = -inf
    most: float = inf
    up_to: bool = False
    """Whether one row is enough; else the claim must hold in all that it speaks of."""
    because: str = ""
    remark: str = ""
    measured: dict[str, Any] = field(default_factory=dict)

    def verdict(self, intervals: Sequence[tuple[float, float]]) -> str:
        """Of figures with their 95 % intervals, one for each row that the claim speaks of."""
        held = [low >= self.least and high <= self.most for low, high in intervals]
        missed = [high < self.least or low > self.most for low, high in intervals]
        if any(held) if self.up_to else all(held):
            return "reproduced" + f", {self.remark}" * bool(self.remark)
        if all(missed) if self.up_to else any(missed):
            assert self.because, f"{self.says}: not reproduced, and claims.toml does not say why"
            return f"not reproduced, because {self.because}"
        return "undecided: the interval holds both"

    def decisive(self, shown: Sequence[Shown]) -> Shown:
        """The row that decides: the weakest of all, or the strongest where one is enough."""
        weakest_first = sorted(shown, key=lambda one: one.low if self.least > -inf else -one.high)
        return weakest_first[-1 if self.up_to else 0]


def claims_of(path: Path = CLAIMS) -> list[Claim]:
    return [Claim(**values) for values in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]]


def claims_text(claims: list[Claim]) -> str:
    """A line for each claim. Raises AssertionError for one that no record decides, and which needs nothing."""
    lines = [line(HEAD), line([":--"] * len(HEAD))]
    for claim in claims:
        if claim.measured:
            cells = _decided(claim)
        else:
            assert claim.needs, f"{claim.says}: neither measured nor needs"
            cells = ["", "", "", f"needs {claim.needs}"]
        lines.append(
            line(
                [
                    plain(claim.system),
                    plain(claim.says),
                    plain(claim.published),
                    *cells[:-1],
                    plain(cells[-1]),
                ]
            )
        )
    return "\n".join([*lines, ""])


def _decided(claim: Claim) -> list[str]:
    """What was measured, under which conditions, how well, and the verdict."""
    how = claim.measured
    table = read_results([ROOT / "results" / how["set"]]).table
    pairs = pairs_of(table, how)
    timed = "faster" in how or "growth" in how
    both = f"`{how['ours']}` to {', '.join(f'`{name}`' for name in _names(how))}"
    conditions = f"{conditions_of([pair.ours for pair in pairs])} ([results/{how['set']}](../results/{how['set']}))"
    quality = quality_of(pairs) if timed else "weighed once, no interval"
    if "growth" in how:
        words, verdict = _growth(claim, times(table, pairs, how["growth"]))
        return [f"{both}:<br>{words}", conditions, quality, verdict]
    shown = times(table, pairs, how["faster"]) if timed else shares(pairs, how)
    verdict = claim.verdict([(one.low, one.high) for one in shown])
    unit = (
        "as fast" if timed else f"the {how.get('memory', 'bytes that are kept').replace('_', ' ')}"
    )
    return [
        f"{both}: {_range(claim, shown, unit, len(_names(how)) > 1)}",
        conditions,
        quality,
        verdict,
    ]


def _names(how: dict[str, Any]) -> list[str]:
    return [how["theirs"]] if isinstance(how["theirs"], str) else how["theirs"]


def _range(claim: Claim, shown: Sequence[Shown], unit: str, named: bool) -> str:
    """The figure, or where there are several the one that decides and the one at the other end."""
    if len(shown) == 1:
        return f"{shown[0].text} {unit}"
    decisive = claim.decisive(shown)
    other = max(shown, key=lambda one: abs(log(one.figure / decisive.figure)))

    def where(one: Shown) -> str:
        own = [f"`{one.pair.theirs.variant}`"] * named + differing(
            one.pair.ours, [each.pair.ours for each in shown]
        )
        return f"{one.text} {unit} ({', '.join(own)})"

    rule = "one is enough, and the strongest is" if claim.up_to else "the weakest decides:"
    return f"of {len(shown)} comparisons {rule} {where(decisive)}; at the other end {where(other)}"


def _growth(claim: Claim, shown: Sequence[Shown]) -> tuple[str, str]:
    """Every figure over the axis, and how much it grows from each value of the axis to the next."""
    lines, grown = [], []
    for name in dict.fromkeys(one.pair.theirs.variant for one in shown):
        own = sorted(
            (one for one in shown if one.pair.theirs.variant == name),
            key=lambda one: one.pair.ours.values["time_steps"],
        )
        lines.append(
            f"`{name}`: "
            + ", ".join(f"{one.text} at T = {one.pair.ours.values['time_steps']}" for one in own)
        )
        grown += [
            (b.figure / a.figure, b.low / a.high, b.high / a.low, name, a, b)
            for a, b in pairwise(own)
        ]
    figure, low, high, name, a, b = min(grown, key=lambda one: one[1])
    steps = " to ".join(str(end.pair.ours.values["time_steps"]) for end in (a, b))
    lines.append(
        f"the weakest growth decides: {units.ratio(figure, low, high)}, `{name}` from T = {steps}"
    )
    return "<br>".join(lines), claim.verdict([one[1:3] for one in grown])
