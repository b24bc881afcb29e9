"""`report.html`: one file that opens offline. Here rows become plain view data; `report.html.j2` lays it out."""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...workloads import WORKLOADS
from ..coverage import REFUSED, axis_of, coverage, kind_of
from ..figures import Figure, Published, figures_of
from ..metric import STEP_FIRST, VIEWS
from ..table import Table
from ..theme import config, named, styles
from .provenance import provenance, rejected
from .reproduce import ResultSet
from .trust import header, trust
from .vega import vega_script

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "draw.js", "table.js")
ABSENT = "–"
"""Said of an axis that means nothing for a case's workload."""


def html_text(
    table: Table,
    name: str,
    unreadable: Sequence[str] = (),
    sets: Sequence[ResultSet] = (),
    missing: Sequence[str] = (),
    theirs: Sequence[Published] = (),
) -> str:
    """The whole report of `table` under the heading `name`. `unreadable` are sentences about files that were skipped, `sets` the
    folders that the rows are from, `missing` the names of planned cases without a record, and `theirs` published figures to lay
    beside the measured ones."""
    rows, conditions = table.rows, table.conditions
    figures = figures_of(table, theirs)
    scripts = [Markup(vega_script()), *(Markup((HERE / file).read_text(encoding="utf-8")) for file in SCRIPTS)]
    templates = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return templates.get_template("report.html.j2").render(
        name=name,
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        payload=_payload(table, figures),
        header=header(table),
        trust=trust(table, unreadable, missing),
        sets=sets,
        fixed=conditions.fixed,
        coverage=coverage(rows, conditions),
        filters=_filters(table),
        figures=figures,
        views=VIEWS,
        columns=[metric for metric in table.shown_in(*VIEWS) if not metric.axis or metric.name in conditions.varying_axes],
        entries=table.entries,
        kind_of=kind_of,
        no_proof=sum(row.first.proof is None for row in rows),
        rejected=[rejected(row, conditions) for row in rows if row.status in REFUSED or (row.first.proof and not row.proved)],
        provenance=provenance(rows, conditions),
        workloads=_workloads(table),
    )


def _workloads(table: Table) -> dict[str, str]:
    """A sentence on each workload of the report, by its name; empty for one that this version of snnbench does not know."""
    names = dict.fromkeys(entry.row.case.workload for entry in table.entries)
    return {name: WORKLOADS[name].summary if name in WORKLOADS else "" for name in names}


def _hash(script: str) -> str:
    """For the page's content security policy: these scripts may run, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _filters(table: Table) -> list[tuple[str, str, list[str]]]:
    """(axis, how it is headed, its values in words) of every condition that varies, and the phase."""
    filters = [
        (axis, axis_of(axis).head, list(dict.fromkeys(entry.parts.get(axis, ABSENT) for entry in table.entries)))
        for axis in table.conditions.varying_axes
    ]
    timed = [phase for phase in STEP_FIRST if any(entry.shows(phase) for entry in table.entries)]
    return [*filters, ("phase", "time of", timed)] if timed else filters


def _payload(table: Table, figures: list[Figure]) -> Markup:
    """Everything that the scripts draw and sort, as JSON: results.csv once, and each panel's points by their lines in it."""
    varying, names = table.conditions.varying_axes, table.columns
    axes = {*varying, "phase"}
    first = table.entries[0].values if table.entries else {}
    same = {name: first[name] for name in names if len({repr(entry.values[name]) for entry in table.entries}) == 1}
    different = [name for name in names if name not in same]
    panels = {
        figure.id: {
            "title": figure.title,
            "spec": figure.spec,
            "panels": [
                {**vars(panel), "where": {axis: text for axis, text in panel.where.items() if axis in axes}}
                for panel in figure.panels
            ],
        }
        for figure in figures
        if figure.panels
    }
    payload = {
        "all_columns": names,
        "same": same,
        "columns": different,
        "cells": [[entry.values[name] for name in different] for entry in table.entries],
        "variants": [entry.variant for entry in table.entries],
        "where": [{axis: entry.parts.get(axis, ABSENT) for axis in varying} for entry in table.entries],
        "figures": panels,
        "styles": styles(table.variants),
        "themes": {theme: {"names": named(theme), "config": config(theme)} for theme in ("light", "dark")},
        "baseline": table.baseline,
        "timed": sorted({entry.variant for entry in table.entries if entry.shows("step")}),
    }
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=True, default=str)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
