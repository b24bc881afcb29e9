"""Data of the site's scripts: the rows of one kind of machine as columns of short numbers, about
sixty bytes a row."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.case import PRECISIONS
from ...machine.facts import machine_label
from ...records.rows import Row, comparison_group, grouped, machine_of
from ...report.words import CONDITIONS, FLAGS, axis_of, cores_text, reason_of
from .source import (
    MEANINGS,
    Source,
    framework_of,
    kind_of_row,
    mark_of,
    slug,
    undecided,
    version_of,
)

OF_A_STEP = 6
"""Significant digits of the time that ranks; four, rounded again to three, would differ from a
report."""
TOTAL = 10_000
"""Interval ends are written in parts of TOTAL."""
HEADS = {
    **{
        "workload": "network",
        "neurons": "neurons",
        "time_steps": "time steps",
        "batch": "batch",
        "device": "on",
    },
    **{"threads": "cores", "loosened": "proved", "source": "measured by"},
}
"""Headings of choices, if the report's heading is too short."""
UNRANKED = "nothing is ranked"
ORDER = ("device", "workload", "neuron", "precision", "neurons", "time_steps", "batch")
"""The first choices; the others follow in the order of reports."""
OTHERS = ("threads", "ranked_by", "loosened", "source")
"""Choices that are no conditions of a case."""
COLUMNS = (
    *("variant", "version", "step", "low", "high", "forward", "backward", "inference"),
    *("best", "worst", "ratio", "ratio_low", "ratio_high", "memory", "flags", "blocks"),
)
"""Columns: `step` is the time of the phase that ranks. Times are in microseconds, memory in KiB,
interval ends in parts of TOTAL; 0: unknown."""


def kinds(sources: Sequence[Source]) -> dict[str, list[tuple[Source, list[Row]]]]:
    """Returns the kinds of machines, those with most rows first, with their bundles and rows."""
    by_kind: dict[str, list[tuple[Source, list[Row]]]] = {}
    for source in sources:
        for kind, rows in grouped(source.rows, kind_of_row).items():
            by_kind.setdefault(kind, []).append((source, rows))
    return dict(sorted(by_kind.items(), key=lambda item: -sum(len(rows) for _, rows in item[1])))


def label_of(entries: Sequence[tuple[Source, list[Row]]]) -> str:
    """Returns the machine's description in one line."""
    return machine_label(entries[0][1][0].first.machine)


def data_of(
    entries: Sequence[tuple[Source, list[Row]]], confirmed: Mapping[int, int]
) -> dict[str, Any]:
    """Returns the data of one kind of machine."""
    variants, versions, reasons = _Numbers(), _Numbers(), _Numbers()
    names = _sources(entries)
    members = [
        (
            source,
            group,
            _conditions(group[0], names[source.bundle.digest, machine_of(group[0].first)]),
        )
        for source, rows in entries
        for group in grouped(rows, comparison_group).values()
    ]
    axes = _axes([conditions for _, _, conditions in members])
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    others, groups, counts, known = (
        list[list[float]](),
        list[list[int]](),
        list[int](),
        dict[int, int](),
    )
    for number, (_, group, conditions) in enumerate(members):
        groups.append(
            [
                axis["values"].index(conditions[axis["name"]][0])
                if axis["name"] in conditions
                else -1
                for axis in axes
            ]
        )
        sound = sorted((row for row in group if row.sound), key=_by_speed)
        counts.append(len(sound))
        for row in sound:
            if id(row) in confirmed:
                known[len(columns["step"])] = confirmed[id(row)]
            for name, value in zip(COLUMNS, _row(row, variants, versions), strict=True):
                columns[name].append(value)
        for row in group:
            if not row.sound:
                names_of = variants[row.case.framework_variant], versions[version_of(row)]
                weighed = _kibibytes(row) if row.status == "ok" and row.proved else 0
                others.append(
                    [number, *names_of, reasons[f"{row.status}: {reason_of(row)}"], weighed]
                )
    frameworks = {
        row.case.framework_variant: framework_of(row) for _, group, _ in members for row in group
    }
    notes = [
        undecided(group) if any(row.standing for row in group) else UNRANKED
        for _, group, _ in members
    ]
    return {
        "label": label_of(entries),
        "first": max(
            range(len(groups)), key=lambda number: (not notes[number], counts[number], -number)
        ),
        "notes": notes,
        "axes": axes,
        "groups": groups,
        "ids": [_id(conditions) for _, _, conditions in members],
        "counts": counts,
        "columns": columns,
        "others": others,
        "confirmed": known,
        "variants": list(variants),
        "pages": [slug(frameworks[name]) for name in variants],
        "marks": [mark_of(frameworks[name]) for name in variants],
        "meanings": MEANINGS,
        "versions": list(versions),
        "reasons": list(reasons),
        "flags": [words for words, _ in FLAGS.values()],
        "sources": {
            names[source.bundle.digest, machine_of(row.first)]: _about(source)
            for source, rows in entries
            for row in rows
        },
    }


def script(kind: str, data: Mapping[str, Any]) -> str:
    """Returns a script file with the data: pages under `file:

    ` can read no other kind of file.
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    return f"snnbench.add({json.dumps(kind)},{text});\n"


class _Numbers(dict[str, int]):
    """Numbers of texts: a new text gets the next number."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def _sources(entries: Sequence[tuple[Source, list[Row]]]) -> dict[tuple[str, tuple[str, str]], str]:
    """Returns a name for each bundle, and for each machine of a bundle with several of this
    kind."""
    named: dict[tuple[str, tuple[str, str]], str] = {}
    for source, rows in entries:
        for machine in dict.fromkeys(machine_of(row.first) for row in rows):
            text = f"{source.by}, {source.date}, {source.bundle.header['name']}"
            same = sum(name == text or name.startswith(f"{text} (") for name in named.values())
            named[source.bundle.digest, machine] = f"{text} ({same + 1})" if same else text
    return named


def _about(source: Source) -> dict[str, Any]:
    header = source.bundle.header
    return {
        "by": source.by,
        "date": source.date,
        **{name: header[name] for name in ("note", "sha256", "snnbench")},
    }


def _conditions(row: Row, source: str) -> dict[str, tuple[str, float | None]]:
    """Returns every condition of a group in words, with its number if it is one."""
    conditions: dict[str, tuple[str, float | None]] = {}
    for name in CONDITIONS:
        if name in row.axes:
            axis, value = axis_of(name), row.axes[name]
            count = axis.unit == "count"
            text = value.label() if name == "neuron" else str(value) if count else axis.say(value)
            conditions[name] = text, float(value) if count else None
    threads = row.first.measure["threads"]
    conditions["threads"] = cores_text(threads), float(threads)
    if row.ranked != "step":
        conditions["ranked_by"] = row.ranked, None
    conditions["loosened"] = ", ".join(row.loosened) or "by all rules", None
    conditions["source"] = source, None
    return conditions


def _axes(conditions: Sequence[Mapping[str, tuple[str, float | None]]]) -> list[dict[str, Any]]:
    """Returns the axes of the groups with their values."""
    names = [
        *ORDER,
        *(name for name in (*CONDITIONS, *OTHERS) if name not in ORDER),
    ]
    axes = []
    for name in names:
        values = dict(group[name] for group in conditions if name in group)
        if not values:
            continue
        order = sorted(values, key=lambda text: _place(name, text, values[text]))
        numbers = [values[text] for text in order]
        axes.append(
            {
                "name": name,
                "head": HEADS.get(name, axis_of(name).head),
                "values": order,
                "numbers": numbers if None not in numbers else None,
            }
        )
    return axes


def _place(name: str, text: str, number: float | None) -> tuple[float, str]:
    if name == "precision":
        return PRECISIONS.index(text) if text in PRECISIONS else len(PRECISIONS), text
    return number or 0.0, text


def _id(conditions: Mapping[str, tuple[str, float | None]]) -> str:
    texts = {name: text for name, (text, _) in sorted(conditions.items())}
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:8]


def _by_speed(row: Row) -> tuple[bool, float]:
    seconds = row.estimates[row.ranked].seconds
    return row.standing is None, row.standing.place if row.standing else seconds


def _row(row: Row, variants: _Numbers, versions: _Numbers) -> Iterable[float]:
    time, standing = row.estimates[row.ranked], row.standing
    yield variants[row.case.framework_variant]
    yield versions[version_of(row)]
    yield _short(1e6 * time.seconds, OF_A_STEP)
    yield from _ends(time.seconds, time.low, time.high)
    for phase in ("forward", "backward", "inference"):
        known = phase in row.estimates and row.phase_status(phase) == "ok" and phase != row.ranked
        yield _short(1e6 * row.estimates[phase].seconds) if known else 0
    yield from (standing.best, standing.worst, _short(standing.ratio)) if standing else (0, 0, 0)
    yield from _ends(standing.ratio, standing.low, standing.high) if standing else (0, 0)
    yield _kibibytes(row)
    yield sum(1 << index for index, flag in enumerate(FLAGS) if flag in row.quality)
    yield len(row.records)


def _kibibytes(row: Row) -> float:
    return _short((row.most_memory("peak") or 0) / 1024)


def _ends(middle: float, low: float | None, high: float | None) -> tuple[int, int]:
    """Returns the distances of an interval's ends from its middle, in parts of TOTAL."""
    if low is None or high is None:
        return 0, 0
    return round(TOTAL * (1 - low / middle)), round(TOTAL * (high / middle - 1))


def _short(value: float, digits: int = 4) -> float:
    """Rounds to significant digits."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) else rounded
