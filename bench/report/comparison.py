"""A comparison in words: sentences, Markdown for pull requests and JUnit XML for CI."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from xml.etree import ElementTree

from ..common import units
from ..common.texts import first_few
from ..common.units import counted
from ..records.changes import Change
from ..records.compare import Comparison
from ..records.sides import Side
from .tables.markdown import line, plain

TIMES = {
    "absolute": "times as measured, less what all cases have in common",
    "relative": "ratios of times within each run",
    "paired": "times of variants in one run",
}
Cells = tuple[str, str, str, str, str]
"""One row below the columns; the last cell is the bare verdict."""


def columns(comparison: Comparison) -> Cells:
    """Returns the heads of the columns: variants of one set have their names."""
    base, new = comparison.names if comparison.times == "paired" else ("was", "is")
    return "case", "what", base, new, "verdict"


def rows(comparison: Comparison, only_changed: bool = False) -> list[tuple[Cells, str]]:
    """Returns findings and times with notes; with `only_changed` definite and possible changes
    only."""
    findings = [
        ((finding.case, finding.what, finding.base, finding.new, finding.verdict), "")
        for finding in comparison.findings
    ]
    times = comparison.of("slower", "faster", "ambiguous") if only_changed else comparison.changes
    return findings + [(_cells(change), change.note) for change in times]


def summary(comparison: Comparison) -> Iterator[str]:
    """Returns sentences: what was compared and how, the doubts, and what would decide them."""
    findings = Counter(finding.verdict for finding in comparison.findings)
    times = Counter(change.verdict for change in comparison.changes)
    base, new = comparison.names
    if comparison.cases:
        cases, how = counted(comparison.cases, "case"), TIMES[comparison.times]
        yield f"{cases} in both, {comparison.timed} with times ({how}): {_counts(findings, times)}"
    else:
        yield f"{base} and {new} have no case in common: nothing is compared"
    for name, cases_there in ((base, comparison.only_base), (new, comparison.only_new)):
        if cases_there:
            yield f"{counted(len(cases_there), 'case')} only in {name}: {first_few(cases_there)}"
    if comparison.changes:
        count = len(comparison.changes)
        chance = (
            ", of which one is wrong by chance in one of twenty runs at most"
            if set(times) != {"unsure"}
            else ""
        )
        yield f"{count} comparisons of times{chance}"
        yield f"{base}: {_side(comparison.base)}; {new}: {_side(comparison.new)}"
    if comparison.versions:
        yield "versions: " + ", ".join(comparison.versions)
    if comparison.shift is not None:
        yield f"all cases {units.ratio(comparison.shift)}, {_canary(comparison)}"
    if comparison.doubts:
        yield "unsure: " + "; ".join(comparison.doubts)
    few = [change for change in comparison.of("unsure") if change.note == "few blocks"]
    if few:
        yield f"unsure: few blocks in {len(few)} of {len(comparison.changes)} comparisons"
    if more := more_blocks(comparison):
        yield f"to decide: up to {counted(more, 'more block')}, measured by: {command(comparison)}"


def more_blocks(comparison: Comparison) -> int:
    """Returns the largest number of further blocks that would decide a comparison, or 0."""
    return max(
        (change.more_blocks or 0 for change in comparison.of("ambiguous", "unsure")), default=0
    )


def command(comparison: Comparison) -> str:
    """Returns the command that measures the further blocks, for phases that not every block has
    too; a run with the same settings resumes an earlier one."""
    there = min(comparison.base.blocks[1], comparison.new.blocks[1])
    undecided = [
        (change, change.more_blocks)
        for change in comparison.of("ambiguous", "unsure")
        if change.more_blocks
    ]
    blocks = max([there, *(change.blocks + more for change, more in undecided)])
    lacks = any(change.phase != "step" and change.blocks < there for change, _ in undecided)
    phases = f" --set measure.phase_blocks={blocks}" if lacks else ""
    return f"snnbench run --config CONFIG --out FOLDER --set measure.blocks={blocks}{phases}"


def markdown_text(comparison: Comparison, only_changed: bool = False) -> str:
    """Returns the table of `rows`, and the sentences below it."""
    table = rows(comparison, only_changed)
    heads = columns(comparison)
    lines = [line(heads), line([":--"] * len(heads))] if table else []
    for cells, note in table:
        lines.append(line([*map(plain, cells[:-1]), plain(_noted(cells[-1], note))]))
    lines += [""] if table else []
    lines += [f"* {plain(sentence)}" for sentence in summary(comparison)]
    return "\n".join([*lines, ""])


def junit_text(comparison: Comparison) -> str:
    """Returns one test for each time, finding and one-sided case: worse and slower fail, unknown is
    skipped."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="snnbench compare")
    add = partial(_test, suite)
    _, _, base, new, _ = columns(comparison)
    for finding in comparison.findings:
        text = f"{base} {finding.base}, {new} {finding.new}"
        add(finding.case, finding.what, finding.verdict, finding.verdict, text)
    for change in comparison.changes:
        message, text = _noted(change.verdict, change.note), " → ".join(_cells(change)[2:4])
        add(change.case, change.phase, change.verdict, message, text)
    alone = comparison.only_base, comparison.only_new
    for name, names in zip(comparison.names, alone, strict=True):
        for case in names:
            add(case, "case", "only here", f"only in {name}", "")
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for kind, tag in tags.items():
        suite.set(kind, str(len(suite.findall(f".//{tag}"))))
    ElementTree.SubElement(suite, "system-out").text = "\n".join(summary(comparison))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


OUTCOMES = {
    **dict.fromkeys(("worse", "slower"), "failure"),
    **dict.fromkeys(("ambiguous", "unsure", "only here"), "skipped"),
}
"""Outcomes of a test by its verdict; others have passed."""


def _test(
    suite: ElementTree.Element, case: str, name: str, verdict: str, message: str, text: str
) -> None:
    test = ElementTree.SubElement(suite, "testcase", classname=case, name=name, time="0")
    if outcome := OUTCOMES.get(verdict):
        ElementTree.SubElement(test, outcome, message=message).text = text


def _cells(change: Change) -> Cells:
    now = f"{units.ratio(change.ratio, change.low, change.high)}, {units.seconds(change.new)}"
    return change.case, change.phase, units.seconds(change.base), now, change.verdict


def _noted(verdict: str, note: str) -> str:
    return f"{verdict}: {note}" if note else verdict


def _counts(findings: Counter[str], times: Counter[str]) -> str:
    counts = findings + times
    order = ("worse", "better", "slower", "faster", "same", "ambiguous", "unsure")
    known = [f"{counts[name]} {name}" for name in order if counts[name]]
    return ", ".join(known) or "nothing to tell"


def _side(side: Side) -> str:
    fewest, most = side.blocks
    blocks = counted(most, "block") if fewest == most else f"{fewest} to {counted(most, 'block')}"
    return f"{blocks}, {side.disturbed:.0%} of {side.slots} slots disturbed"


def _canary(comparison: Comparison) -> str:
    if comparison.canary is None:
        if comparison.times == "relative":
            return "another machine"
        return "no canary to tell whether it is the machine"
    alike = abs(comparison.canary / comparison.shift - 1) < 0.03 if comparison.shift else False
    machine = ": the machine" if alike and abs(comparison.canary - 1) >= 0.01 else ""
    return f"canary {units.ratio(comparison.canary)}{machine}"
