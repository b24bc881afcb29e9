"""`report.html`: one file that opens offline. Rows become plain view data for `report.html.j2`."""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from snnbench.adapters.registry import OURS

from ...common.files import cache_folder, write_atomically
from ...workloads import WORKLOADS
from ..answer import report_answer
from ..colours import config, named, styles
from ..columns.metric import VIEWS
from ..coverage import coverage
from ..figures import Figure, figures_of
from ..ranks import by_title, heads_of, lines_of
from ..table import Table
from ..words import REFUSED, axis_of, kind_of
from .provenance import provenance, rejected
from .reproduce import ResultSet
from .still import stills
from .trust import caveats, date, header, trust

HERE = Path(__file__).parent


def templates_of(folder: Path) -> Environment:
    """Returns the templates of HTML pages in a folder; each is compiled once in a process."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


TEMPLATES = templates_of(HERE)
SCRIPTS = ("page.js", "draw.js", "table.js")
ABSENT = "–"
"""Stands for an axis that a case's workload lacks."""
SEARCHED = ("status", "reason", "quality")
"""Columns that the table's search covers, besides the framework and the conditions."""


def html_text(
    table: Table,
    name: str,
    unreadable: Sequence[str] = (),
    sets: Sequence[ResultSet] = (),
    missing: Sequence[str] = (),
) -> str:
    """Returns the whole report of `table` under the heading `name`.

    `unreadable` are sentences about skipped files, `sets` the folders of the rows and `missing`
    the names of planned cases without a record.
    """
    rows, conditions = table.rows, table.conditions
    figures = figures_of(table)
    trusted = trust(table, unreadable, missing)
    columns = [
        metric
        for metric in table.in_views(*VIEWS)
        if not metric.axis or metric.name in conditions.varying_axes
    ]
    columns = [metric for metric in columns if any(map(metric.text, table.entries))]
    scripts = [Markup((HERE / file).read_text(encoding="utf-8")) for file in SCRIPTS]
    vega, packed_vega = _vega_script()
    data: dict[str, Any] = {"cases": _cases(table)} | {
        f"figure-{figure.id}": _drawn(table, figure) for figure in figures if figure.panels
    }
    data["vega"] = packed_vega
    return TEMPLATES.get_template("report.html.j2").render(
        name=name,
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),
        scripts=scripts,
        hashes=[_hash(script) for script in (vega, *scripts)],
        data={name: _json(values) for name, values in data.items()},
        header=header(table, missing),
        answer=report_answer(table),
        trust=trusted,
        caveats=caveats(table, trusted, missing),
        stills={figure.id: stills(table, figure) for figure in figures if figure.id == "winners"},
        sets=sets,
        date=date,
        ours=OURS,
        fixed=conditions.fixed,
        coverage=coverage(rows, conditions),
        filters=_filters(table),
        figures=figures,
        scalings=_scalings(table),
        rank_heads=heads_of(table),
        views=VIEWS,
        columns=columns,
        entries=table.entries,
        kind_of=kind_of,
        no_proof=sum(row.first.proof is None for row in rows),
        rejected=[
            rejected(row, conditions)
            for row in rows
            if row.status in REFUSED or (row.first.proof and not row.proved)
        ],
        provenance=provenance(rows, conditions),
        workloads=_workloads(table),
        networks=not rows or any(not row.case.delivers_data for row in rows),
        deliveries=any(row.case.delivers_data for row in rows),
        unasked=_unasked(table),
        step=table.timed,
    )


def _scalings(table: Table) -> list[dict[str, Any]]:
    """Returns the tables of scaling over ranks."""
    tables = by_title(table).items()
    return [
        {"title": title, "lines": [line for scaling in scalings for line in lines_of(scaling)]}
        for title, scalings in tables
    ]


ASKED = {
    "step_energy_j": "the energy of a step",
    "accuracy": "the loss and the accuracy of real training steps on a synthetic task",
    "ranks": "several ranks, each on a device of its own",
    "batches": "the delivery of recordings as batches",
}
"""Optional measurements, each by a column of results.csv."""


def _unasked(table: Table) -> list[str]:
    return [
        text
        for name, text in ASKED.items()
        if all(entry.values[name] is None for entry in table.entries)
    ]


def _workloads(table: Table) -> dict[str, str]:
    """Returns a sentence on each workload of the report, by its name; empty for unknown ones."""
    names = dict.fromkeys(entry.row.case.workload for entry in table.entries)
    return {name: WORKLOADS[name].summary if name in WORKLOADS else "" for name in names}


@lru_cache(maxsize=1)
def _vega_script() -> tuple[str, str]:
    """Returns Vega, Vega-Lite and Vega-Embed as a script that defines `window.vegaEmbed`, and the
    same compressed: base64 of gzip. Bundling takes two seconds, so the script is cached in a
    file."""
    cached = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    try:
        script = cached.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub asks for a snippet
        with suppress(OSError):  # then the next report takes two seconds more
            write_atomically(cached, script)
    return script, base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()


def _hash(script: str) -> str:
    """Returns a script's hash for the page's content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _filters(table: Table) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Returns (axis, heading, values with their words) of every varying condition, and of the
    phase."""
    filters = []
    for axis in table.conditions.varying_axes:
        texts = dict.fromkeys(entry.parts.get(axis, ABSENT) for entry in table.entries)
        filters.append((axis, axis_of(axis).head, [(text, text) for text in texts]))
    timed = [phase for phase in table.phases if any(entry.shows(phase) for entry in table.entries)]
    if timed:
        return [*filters, ("phase", "time of", [(phase, table.phase(phase)) for phase in timed])]
    return filters


def _json(value: Any) -> Markup:
    text = json.dumps(value, separators=(",", ":"), default=str)
    return Markup(text.replace("<", "\\u003c"))


def _cases(table: Table) -> dict[str, Any]:
    """Returns what the scripts filter and sort: results.csv by columns, and each case's words."""
    varying, names, entries = table.conditions.varying_axes, table.columns, table.entries
    cells = {name: [entry.values[name] for entry in entries] for name in names}
    same = {name: values[0] for name, values in cells.items() if len({*map(repr, values)}) == 1}
    wheres = [{axis: entry.parts.get(axis, ABSENT) for axis in varying} for entry in entries]
    places = {tuple(where.values()): where for where in wheres}
    numbers = {key: number for number, key in enumerate(places)}
    searched = [metric for metric in table.metrics if metric.name in SEARCHED]
    return {
        "all_columns": names,
        "same": same,
        "cells": {name: values for name, values in cells.items() if name not in same},
        "variants": [entry.variant for entry in entries],
        "places": list(places.values()),
        "where": [numbers[tuple(where.values())] for where in wheres],
        "searched": ["\n".join(metric.text(entry) for metric in searched) for entry in entries],
        "styles": styles(table.variants),
        "themes": {
            theme: {"names": named(theme), "config": config(theme)} for theme in ("light", "dark")
        },
        "baseline": table.baseline,
        "timed": sorted({entry.variant for entry in entries if entry.shows(entry.row.ranked)}),
    }


def _drawn(table: Table, figure: Figure) -> dict[str, Any]:
    """Returns a figure's specification and panels, with points by their lines in results.csv."""
    axes = {*table.conditions.varying_axes, "phase"}
    panels = [
        {**vars(panel), "where": {axis: text for axis, text in panel.where.items() if axis in axes}}
        for panel in figure.panels
    ]
    return {"title": figure.title, "key": figure.key, "spec": figure.spec, "panels": panels}
