"""The table of claims: what systems have claimed, what the committed records say, and a verdict that follows from both."""

import tomllib
from dataclasses import dataclass, field
from math import exp, inf
from pathlib import Path
from typing import Any

from snnbench.report.files import read_results
from snnbench.report.metric import Entry
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line, plain

from .paths import ROOT

CLAIMS = ROOT / "results" / "published" / "claims.toml"
HEAD = ("system", "claim", "as published", "here", "verdict")


@dataclass
class Claim:
    """One entry of claims.toml."""

    system: str
    says: str
    published: str
    needs: str = ""
    least: float = -inf
    most: float = inf
    because: str = ""
    measured: dict[str, Any] = field(default_factory=dict)

    def verdict(self, low: float, high: float) -> str:
        """Of a figure with its 95 % interval."""
        if low >= self.least and high <= self.most:
            return "reproduced"
        unsure = high >= self.least and low <= self.most
        assert unsure or self.because, f"{self.says}: not reproduced, and claims.toml does not say why"
        return "not reproduced, because the interval holds both" if unsure else f"not reproduced, because {self.because}"


def claims_of(path: Path = CLAIMS) -> list[Claim]:
    return [Claim(**values) for values in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]]


def claims_text(claims: list[Claim]) -> str:
    """A line for each claim. Raises AssertionError for one that no record decides, and which needs nothing."""
    tables: dict[str, Table] = {}
    lines = [line(HEAD), line([":--"] * len(HEAD))]
    for claim in claims:
        if claim.measured:
            name = claim.measured["set"]
            table = tables.setdefault(name, read_results([ROOT / "results" / name]).table)
            here, verdict = decided(claim, table)
            here += f" ([results/{name}](../results/{name}))"
        else:
            assert claim.needs, f"{claim.says}: neither measured nor needs"
            here, verdict = "", f"needs {claim.needs}"
        lines.append(line([plain(claim.system), plain(claim.says), plain(claim.published), here, plain(verdict)]))
    return "\n".join([*lines, ""])


def decided(claim: Claim, table: Table) -> tuple[str, str]:
    """What was measured, in words, and the verdict."""
    how = claim.measured
    both = f"`{how['ours']}` to `{how['theirs']}`"
    if "memory" in how or "kept" in how:
        column, words = (
            (f"step_{how['memory']}_bytes", how["memory"]) if "memory" in how else (how["kept"], "bytes that are kept")
        )
        share = _entry(table, how, "ours").values[column] / _entry(table, how, "theirs").values[column]
        return f"{both}: {share:.2f}× the {words.replace('_', ' ')}", claim.verdict(share, share)
    if "faster" in how:
        ratio, low, high = _faster(table, how, how["faster"])
        words = f"{both}: {exp(ratio):.2f}× ({exp(low):.2f}–{exp(high):.2f}) as fast"
        return words, claim.verdict(exp(low), exp(high))
    at = [_faster(table, {**how, "case": {**how["case"], **how[end]}}, how["growth"]) for end in ("from", "to")]
    (first, *first_ends), (last, *last_ends) = at
    ends = ["{} = {}".format(*next(iter(how[end].items()))).replace("_", " ") for end in ("from", "to")]
    words = f"{both}: {exp(first):.2f}× as fast at {ends[0]}, {exp(last):.2f}× at {ends[1]}"
    return words, claim.verdict(exp(last_ends[0] - first_ends[1]), exp(last_ends[1] - first_ends[0]))


def _faster(table: Table, how: dict[str, Any], phase: str) -> tuple[float, float, float]:
    """How many times as fast ours is as theirs, as a log ratio with its interval: one of all that ours has beside it."""
    ours, theirs = (_entry(table, how, side) for side in ("ours", "theirs"))
    group = next(group for _, group in table.groups() if ours in group)
    others = [entry for entry in group if entry is not ours and entry.shows(phase)]
    shown = table.compared(phase, ours, others)[others.index(theirs)]
    return shown.estimate, shown.low, shown.high


def _entry(table: Table, how: dict[str, Any], side: str) -> Entry:
    """The only proved case of a framework with these fields."""
    wanted = how["case"].items()
    found = [entry for entry in table.entries if entry.variant == how[side] and all(entry.values[key] == v for key, v in wanted)]
    assert len(found) == 1 and found[0].row.sound, f"{how['set']}: {how[side]} {how['case']}: {[e.row.status for e in found]}"
    return found[0]
