"""All files of a site, from its bundles."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...common import __version__
from ...common.units import counted
from ...records.rows import Row
from ...report.page.page import templates_of
from ...report.words import FLAGS
from ..badge import badge_of
from .data import data_of, kinds, label_of, script
from .frameworks import by_versions, cell_of, framework_page, neuron_of, neurons_of, newest_endings
from .source import AGREE, MEANINGS, Source, confirmations, framework_of, in_order, mark_of, slug
from .standings import comparisons, standings

HERE = Path(__file__).parent
TEMPLATES = templates_of(HERE)
STATIC = ("site.css", "site.js", "answer.js", "machine.js")
MOST_MACHINES = 50
"""Kinds of machine on the start page: those with most cases."""


def site_files(sources: Sequence[Source]) -> dict[str, str]:
    """Returns the text of each file by its path in the site. At least one source must have a
    record."""
    rows = [row for source in sources for row in source.rows]
    by_kind, confirmed = kinds(sources), confirmations(sources)
    names = in_order(framework_of(row) for row in rows)
    counts = (
        f"{len(rows)} cases of {len(names)} frameworks on {counted(len(by_kind), 'kind')} of "
        "machine"
    )
    shared = {"version": __version__, "counts": counts, "meanings": MEANINGS}

    def page(template: str, here: str, **values: Any) -> str:
        return (
            TEMPLATES.get_template(template).render(
                up="../" * here.count("/"), here=here, **shared, **values
            )
            + "\n"
        )

    machines = [
        {"kind": kind, "label": label, "rows": sum(len(kind_rows) for _, kind_rows in entries)}
        for (kind, entries), label in zip(
            by_kind.items(), _labels([*by_kind.values()]), strict=True
        )
    ]
    listed = machines[:MOST_MACHINES]
    files = {name: (HERE / name).read_text(encoding="utf-8") for name in STATIC}
    files["index.html"] = page(
        "index.html.j2",
        "index.html",
        machines=listed,
        machines_json=Markup(json.dumps(listed).replace("<", "\\u003c")),
        frameworks=[(name, slug(name), mark_of(name)) for name in names],
    )
    for machine, (kind, entries) in zip(machines, by_kind.items(), strict=True):
        files[f"data/{kind}.js"] = script(kind, data_of(entries, confirmed))
        where = f"machine/{kind}.html"
        about = {
            "label": machine["label"],
            "facts": _facts(entries[0][1][0]),
            "sources": [source for source, _ in entries],
        }
        files[where] = page("machine.html.j2", where, kind=kind, **about)
    rivals = comparisons(sources)
    for name in names:
        of_framework = [row for row in rows if framework_of(row) == name]
        badge = badge_of(newest_endings(of_framework))
        lines, omitted = standings(of_framework, rivals)
        where = f"framework/{slug(name)}.html"
        about = {"name": name, "page": slug(name), "mark": mark_of(name), "badge": badge["message"]}
        files[where] = page(
            "framework.html.j2",
            where,
            **about,
            **framework_page(name, of_framework),
            standings=lines,
            omitted=omitted,
        )
        files[f"badge/{slug(name)}.json"] = json.dumps(badge) + "\n"
    neurons, proofs = _coverage(rows, names)
    files["coverage.html"] = page(
        "coverage.html.j2", "coverage.html", neurons=neurons, lines=proofs
    )
    files["method.html"] = page(
        "method.html.j2", "method.html", agree=AGREE, flags=list(FLAGS.values()), sources=sources
    )
    return files | {".nojekyll": ""}


def _labels(entries: Sequence[Sequence[tuple[Source, list[Row]]]]) -> list[str]:
    """Returns a label for each kind; numbers distinguish equal ones, such as other numbers of
    threads."""
    labels = list[str]()
    for kind_entries in entries:
        label = label_of(kind_entries)
        same = sum(known == label or known.startswith(f"{label} #") for known in labels)
        labels.append(f"{label} #{same + 1}" if same else label)
    return labels


def _facts(row: Row) -> list[tuple[str, str]]:
    machine = row.first.machine
    gpus = [f"{gpu['name']}, driver {gpu['driver']}" for gpu in machine["gpus"]]
    cores = f"{machine.get('cores') or 'unknown'} cores, {machine['usable_threads']} threads usable"
    facts = [
        ("CPU", machine["cpu"]),
        ("cores", cores),
        ("memory", f"{machine['memory_bytes'] / 2**30:.0f} GiB"),
    ]
    return [*facts, *(("GPU", gpu) for gpu in gpus), ("system", machine.get("system") or "unknown")]


def _coverage(rows: Sequence[Row], names: Sequence[str]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the neurons, and a line for each framework of which one was requested."""
    plain = [row for row in rows if not row.case.native]
    neurons, lines = neurons_of(plain), list[tuple[Any, ...]]()
    for name in names:
        of_framework = [row for row in plain if framework_of(row) == name]
        cells = []
        for neuron in neurons:
            tried = by_versions([row for row in of_framework if neuron_of(row) == neuron])
            cells.append(cell_of(list(tried.values())[-1]) if tried else ("", "", ""))
        if of_framework:
            lines.append((name, slug(name), mark_of(name), cells))
    return neurons, lines
