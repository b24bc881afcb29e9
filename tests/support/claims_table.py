"""Generates docs/claims.md: for each paper its claims, committed figures and verdicts."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import inf, log
from pathlib import Path
from typing import Any

from snnbench.common import units
from snnbench.report.files import read_results
from snnbench.report.tables.markdown import line, plain

from .claims_pairs import Shown, conditions_of, differing, pairs_of, quality_of, shares, times
from .paths import ROOT, committed

CLAIMS = ROOT / "docs" / "claims.toml"
VERDICTS = {
    "reproduced": "reproduced",
    "not reproduced": "not reproduced",
    "undecided": "undecided",
    "needs": "needs other hardware",
}
"""Columns of the summary, by the words that a verdict begins with."""


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
    """True if one row is enough; else the claim must hold in all rows that it covers."""
    because: str = ""
    remark: str = ""
    measured: dict[str, Any] = field(default_factory=dict)

    def verdict(self, intervals: Sequence[tuple[float, float]]) -> str:
        """Returns the verdict on the 95 % intervals of all rows that the claim covers."""
        held = [low >= self.least and high <= self.most for low, high in intervals]
        missed = [high < self.least or low > self.most for low, high in intervals]
        if any(held) if self.up_to else all(held):
            return "reproduced" + f", {self.remark}" * bool(self.remark)
        if all(missed) if self.up_to else any(missed):
            assert self.because, f"{self.says}: not reproduced, and claims.toml does not say why"
            return f"not reproduced, because {self.because}"
        return "undecided: the interval holds both"

    def decisive(self, shown: Sequence[Shown]) -> Shown:
        """Returns the deciding row: the weakest of all, or the strongest if one is enough."""
        weakest_first = sorted(shown, key=lambda row: row.low if self.least > -inf else -row.high)
        return weakest_first[-1 if self.up_to else 0]


def claims_of(path: Path = CLAIMS) -> list[Claim]:
    return [Claim(**values) for values in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]]


def claims_text(claims: list[Claim]) -> str:
    """Returns the summary and a section for each paper.

    Raises AssertionError for a claim that neither a record decides nor `needs` explains.
    """
    sections, counts = [], []
    for paper, group in groupby(claims, key=lambda claim: claim.system):
        section, verdicts = _section(list(group))
        sections.append(f"## {plain(paper)}\n\n{section}")
        numbers = [sum(verdict.startswith(word) for verdict in verdicts) for word in VERDICTS]
        counts.append(line([plain(paper), *(str(number or "") for number in numbers)]))
    head = [line(["paper", *VERDICTS.values()]), line([":--", *["--:"] * len(VERDICTS)])]
    return "\n".join([*head, *counts, "", *sections])


def _section(claims: list[Claim]) -> tuple[str, list[str]]:
    """Returns a paper's claims, below them the conditions that they share, and the verdicts."""
    texts, verdicts, conditions = [], [], {}
    for claim in claims:
        lines = [f"published: {plain(claim.published)}"]
        if claim.measured:
            measured, condition, quality, verdict = _decided(claim)
            number = conditions.setdefault(condition, len(conditions) + 1)
            lines += [f"here: {measured}", f"quality: {quality}; conditions: {number}"]
        else:
            assert claim.needs, f"{claim.says}: neither measured nor needs"
            verdict = f"needs {claim.needs}"
        verdicts.append(verdict)
        says = plain(claim.says)
        bullets = "\n".join(f"* {text}" for text in lines)
        texts.append(f"### {says[0].upper()}{says[1:]}\n\n**{plain(verdict)}**\n\n{bullets}\n")
    if conditions:
        listed = "\n".join(f"{number}. {text}" for text, number in conditions.items())
        texts.append(f"Conditions:\n\n{listed}\n")
        sets = dict.fromkeys(claim.measured["set"] for claim in claims if claim.measured)
        again = "\n".join(f"snnbench run --config {name}" for name in sets)
        texts.append(f"To measure again:\n\n```\n{again}\n```\n")
    return "\n".join(texts), verdicts


def _decided(claim: Claim) -> tuple[str, str, str, str]:
    """Returns the measured figures, the conditions, the quality of the times, and the verdict."""
    how = claim.measured
    table = read_results([committed(how["set"])]).table
    pairs = pairs_of(table, how)
    timed = "faster" in how or "growth" in how
    both = f"`{how['ours']}` against {', '.join(f'`{name}`' for name in _names(how))}"
    link = f"[results/{how['set']}](../results/{how['set']}.bundle.jsonl)"
    conditions = f"{conditions_of([pair.ours for pair in pairs])} ({link})"
    quality = quality_of(pairs) if timed else "weighed once, no interval"
    if "growth" in how:
        words, verdict = _growth(claim, times(table, pairs, how["growth"]))
        return f"{both}:\n{words}", conditions, quality, verdict
    shown = times(table, pairs, how["faster"]) if timed else shares(pairs, how)
    verdict = claim.verdict([(row.low, row.high) for row in shown])
    unit = (
        "as fast" if timed else f"the {how.get('memory', 'bytes that are kept').replace('_', ' ')}"
    )
    return (
        f"{both}: {_range(claim, shown, unit, len(_names(how)) > 1)}",
        conditions,
        quality,
        verdict,
    )


def _names(how: dict[str, Any]) -> list[str]:
    return [how["theirs"]] if isinstance(how["theirs"], str) else how["theirs"]


def _range(claim: Claim, shown: Sequence[Shown], unit: str, named: bool) -> str:
    """Returns the figure, or of several the deciding one and the one at the other end."""
    if len(shown) == 1:
        return f"{shown[0].text} {unit}"
    decisive = claim.decisive(shown)
    other = max(shown, key=lambda row: abs(log(row.figure / decisive.figure)))

    def where(row: Shown) -> str:
        names = [f"`{row.pair.theirs.variant}`"] * named
        names += differing(row.pair.ours, [each.pair.ours for each in shown])
        return f"{row.text} {unit} ({', '.join(names)})"

    rule = "one is enough, and the strongest is" if claim.up_to else "the weakest decides:"
    return f"of {len(shown)} comparisons {rule} {where(decisive)}; at the other end {where(other)}"


def _growth(claim: Claim, shown: Sequence[Shown]) -> tuple[str, str]:
    """Returns all figures over the axis with the weakest growth, and the verdict."""
    lines, grown = [], []
    for name in dict.fromkeys(row.pair.theirs.variant for row in shown):
        rows = sorted(
            (row for row in shown if row.pair.theirs.variant == name),
            key=lambda row: row.pair.ours.values["time_steps"],
        )
        figures = (f"{row.text} at T = {row.pair.ours.values['time_steps']}" for row in rows)
        lines.append(f"  * `{name}`: {', '.join(figures)}")
        grown += [
            (b.figure / a.figure, b.low / a.high, b.high / a.low, name, a, b)
            for a, b in pairwise(rows)
        ]
    figure, low, high, name, a, b = min(grown, key=lambda growth: growth[1])
    steps = " to ".join(str(end.pair.ours.values["time_steps"]) for end in (a, b))
    weakest = units.ratio(figure, low, high)
    lines.append(f"  * the weakest growth decides: {weakest}, `{name}` from T = {steps}")
    return "\n".join(lines), claim.verdict([growth[1:3] for growth in grown])
