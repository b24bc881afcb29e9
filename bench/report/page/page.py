"""`report.html`: one file that opens offline. Here rows become plain view data; `report.html.j2` lays it out."""

import base64
import hashlib
import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...records.rows import Row
from ..coverage import Conditions, coverage
from ..figures import Figure, Published, Table, figures_of
from ..figures.figure import PHASES
from ..tables.csv import COLUMNS
from ..theme import config, named, styles
from .provenance import provenance, rejected
from .reproduce import ResultSet
from .table import columns, lines
from .trust import REFUSED, header, trust
from .vega import vega_script

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "draw.js", "table.js")
VIEWS = {"times": "Times", "memory": "Memory", "start": "Start and limits", "proof": "Proof"}
CALLED = {"neurons": "N", "time_steps": "T", "batch": "B", "input_grad": "input gradient"}


def html_text(
    rows: list[Row],
    name: str,
    unreadable: list[str],
    sets: list[ResultSet] = (),
    theirs: list[Published] = (),
    baseline: str = "",
    missing: list[str] = (),
) -> str:
    """The whole report of `rows` (as `rows_of` gives them).

    `unreadable` are sentences about files that were skipped, `sets` the folders that the rows are from, `theirs` published
    figures to lay beside them, `baseline` the framework variant that times are compared with at first, and `missing` the names
    of planned cases without a record.
    """
    conditions = Conditions(rows)
    table = Table(rows, conditions, baseline)
    values = {id(entry.row): entry.values for entry in table.entries}
    figures = figures_of(table, theirs)
    scripts = [Markup(vega_script()), *(Markup((HERE / file).read_text(encoding="utf-8")) for file in SCRIPTS)]
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2").render(
        name=name,
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        payload=_payload(table, figures),
        header=header(rows, conditions),
        trust=trust(rows, conditions, values, unreadable, missing),
        sets=sets,
        fixed=conditions.fixed,
        coverage=coverage(rows, conditions),
        filters=_filters(table),
        figures=figures,
        views=VIEWS,
        columns=columns(table),
        lines=lines(table),
        no_proof=sum(row.first.proof is None for row in rows),
        rejected=[rejected(row, conditions) for row in rows if row.status in REFUSED or (row.first.proof and not row.proved)],
        provenance=provenance(rows, conditions),
    )


def _hash(script: str) -> str:
    """For the page's content security policy: these scripts may run, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _filters(table: Table) -> list[tuple[str, str, list[str]]]:
    """(axis, what it is called, its values in words) of every condition that varies, and the phase."""
    found = [
        (axis, CALLED.get(axis, axis.replace("_", " ")), list(dict.fromkeys(entry.parts[axis] for entry in table.entries)))
        for axis in table.conditions.varying_axes
    ]
    timed = [phase for phase in PHASES if any(entry.shows(phase) for entry in table.entries)]
    return [*found, ("phase", "time of", timed)] if timed else found


def _payload(table: Table, figures: list[Figure]) -> Markup:
    """Everything that the scripts draw and sort, as JSON: results.csv once, and each panel's points by their lines in it."""
    axes = {*table.conditions.varying_axes, "phase"}
    cells = [[entry.values[column] for column in COLUMNS] for entry in table.entries]
    same = {column: cells[0][place] for place, column in enumerate(COLUMNS) if len({repr(line[place]) for line in cells}) == 1}
    different = [place for place, column in enumerate(COLUMNS) if column not in same]
    panels = {
        figure.id: {
            "title": figure.title,
            "spec": figure.spec,
            "panels": [
                {
                    "title": panel.title,
                    "where": {axis: text for axis, text in panel.where.items() if axis in axes},
                    "points": panel.points,
                    "fields": panel.fields,
                    "names": panel.names,
                    "notes": panel.notes,
                }
                for panel in figure.panels
            ],
        }
        for figure in figures
        if figure.panels
    }
    payload = {
        "all_columns": COLUMNS,
        "same": same,
        "columns": [COLUMNS[place] for place in different],
        "cells": [[line[place] for place in different] for line in cells],
        "variants": [entry.variant for entry in table.entries],
        "where": [{axis: entry.parts[axis] for axis in table.conditions.varying_axes} for entry in table.entries],
        "figures": panels,
        "styles": styles(table.variants),
        "themes": {theme: {"names": named(theme), "config": config(theme)} for theme in ("light", "dark")},
        "baseline": table.baseline,
        "timed": sorted({entry.variant for entry in table.entries if entry.shows("step")}),
    }
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=True, default=str)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
