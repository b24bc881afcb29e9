"""A framework's history: proofs of its versions, and their steps against a plain loop of the same
run."""

from math import isfinite
from typing import Any

from packaging.version import InvalidVersion, Version

from ...records.rows import grouped
from ..columns.metric import Entry
from ..table import Table
from ..words import runs_text, version_runs
from .figure import Figure, Panel, panel_of, short
from .spec import (
    COLOUR,
    Spec,
    beside,
    by_variant,
    calculated,
    dots,
    hint,
    layer,
    limit,
    ratio_text,
    rows_of_dots,
    span,
)

TEXT = (
    "One line for each version, the newest first: the outcome of the proof and, if the step was "
    "timed, its ratio to a plain loop in the same run, with its 95 % interval where more than one "
    "block has undisturbed slots. A ratio depends less on the machine than a time does; the dashed "
    "line is the loop itself. Small numbers lead to the reasons."
)
CONTROLS = ("torch", "jax")
"""Plain loops. A version is compared with the one of its own library if that was measured."""
WORDS = {"ok": "proved", "check_failed": "rejected"}
KEY = "Dashed line: the plain loop. Line: 95 % interval."


def versions(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        for same in grouped(group, _family).values():
            if len({_version(entry) for entry in same}) > 1:
                panels.append(_panel(table, where, group, same))
    missing = (
        'No framework was measured in several versions (framework = ["snntorch@0.9.4", '
        '"snntorch"] in a config).'
    )
    return Figure("versions", "Versions", TEXT, _spec(), panels, missing, key=KEY)


def _family(entry: Entry) -> tuple[str, str, str]:
    return entry.row.first.adapter["name"], entry.row.case.construction, entry.row.case.mode


def _version(entry: Entry) -> str:
    return entry.row.first.adapter.get("version") or "unknown"


def _age(entry: Entry) -> tuple[bool, Version | str]:
    try:
        return True, Version(_version(entry))
    except InvalidVersion:
        return False, _version(entry)


def _panel(table: Table, where: dict[str, str], group: list[Entry], same: list[Entry]) -> Panel:
    same = sorted(same, key=_age, reverse=True)
    versions = [_version(entry) for entry in same]
    labels = [
        version if versions.count(version) == 1 else entry.variant
        for version, entry in zip(versions, same, strict=True)
    ]
    phase = same[0].row.ranked
    timed = [entry for entry in same if entry.shows(phase)]
    control = _control(group, same)
    comparisons = table.compared(phase, control, timed) if control else []
    ratios = {
        entry.index: tuple(map(short, comparison.ratio))
        for entry, comparison in zip(timed, comparisons, strict=False)
    }
    points: list[dict[str, Any]] = []
    for entry, label in zip(same, labels, strict=True):
        ratio, low, high = ratios.get(entry.index, (None, None, None))
        low, high = (low, high) if high is not None and isfinite(high) else (None, None)
        status = entry.row.status
        word = (
            WORDS.get(status, status.replace("_", " "))
            if status != "ok" or entry.row.proved
            else "not proved"
        )
        comparison_values = {"against": ratio, "low": low, "high": high}
        points.append({"row": entry.index, "version": label, **comparison_values, "word": word})
    known = [
        value
        for point in points
        for value in (point["against"], point["low"], point["high"])
        if value is not None
    ]
    domain = [0.95 * min([1.0, *known]), 1.05 * max([1.0, *known])]
    title = (
        f"{phase}, times that of {control.variant}"
        if known and control
        else f"the {phase} was not timed"
    )
    notes = [_in_short([(point["word"], point["version"]) for point in reversed(points)])]
    reasons = list(dict.fromkeys(_reason(entry) for entry in same if entry.row.reason))
    notes += [f"{_raised(number)} {reason}" for number, reason in enumerate(reasons, start=1)]
    for entry, point in zip(same, points, strict=True):
        mark = f" {_raised(reasons.index(_reason(entry)) + 1)}" if entry.row.reason else ""
        point["told"] = f"{point['word']}{mark}"
    name = same[0].row.first.adapter["name"]
    drawn: dict[str, Any] = {
        "labels": labels,
        "domain": domain,
        "across": title,
        "timed": bool(known),
        "limit": [{"against": 1}] if known else [],
    }
    return panel_of(
        table, where, same, {}, points, f"{name}{_spelled(same[0])}", notes=notes, **drawn
    )


def _raised(number: int) -> str:
    """Writes the number of a footnote.

    >>> _raised(12)
    '¹²'
    """
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _reason(entry: Entry) -> str:
    """Returns why a version has no figures, without its number, because many share a reason."""
    name = entry.row.first.adapter["name"]
    return (entry.row.reason or "").replace(f"{name} {_version(entry)}", name)


def _in_short(words: list[tuple[str, str]]) -> str:
    runs = version_runs(words)
    return f"{runs[0][0]} in all of them" if len(runs) == 1 else runs_text(runs)


def _spelled(entry: Entry) -> str:
    """Returns `:stepwise+compile` of a variant."""
    words = entry.row.case.variant.words
    return f":{words}" if words else ""


def _control(group: list[Entry], same: list[Entry]) -> Entry | None:
    """Returns the plain loop to compare with: torch's for versions that rest on torch, else
    JAX's."""
    there = {
        entry.variant: entry
        for entry in group
        if entry.shows(entry.row.ranked) and entry not in same
    }
    rests_on = {name for entry in same for name in entry.row.first.adapter.get("closure") or ()}
    order = sorted(CONTROLS, key=lambda name: name not in rests_on)
    return next((there[name] for name in order if name in there), None)


def _spec() -> Spec:
    ratio, between = ratio_text("datum.against", "datum.low", "datum.high")
    ratio_words = f"isValid(datum.against) ? {ratio} : ''"
    interval = f"isValid(datum.low) ? ' ' + {between} : ''"
    x: Spec = {
        "field": "against",
        "type": "quantitative",
        "scale": {"domain": "$domain", "zero": False, "nice": False},
    }
    x["axis"] = {"title": "$across", "format": ".2~f", "tickCount": 5, "labelOverlap": "greedy"}
    x["axis"] |= dict.fromkeys(("labels", "ticks", "grid"), "$timed")
    tooltip = hint(version="version", proof="word", ratio="said")
    layers = [
        limit(x, "$limit"),
        layer("rule", {**span(x), **COLOUR}, "isValid(datum.low)", strokeWidth=2),
        dots({"x": x, **COLOUR, "tooltip": tooltip}, "isValid(datum.against)"),
        layer(
            "text",
            {"x": x, "text": {"field": "times", "type": "nominal"}},
            "isValid(datum.against)",
            dy=-9,
        ),
        beside("told"),
    ]
    y = {**by_variant("version"), "scale": {"domain": "$labels"}}
    return rows_of_dots(
        layers,
        calculated(times=ratio_words, said=f"{ratio_words} + ({interval})"),
        encoding={"y": y},
    )
