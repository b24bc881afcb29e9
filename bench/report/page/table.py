"""The filterable table: every case in a line, its metrics in views, each cell as people read it."""

from typing import Any

from ..coverage import KINDS, UNRANKED
from ..metric import VIEWS, Metric
from ..table import Table


def columns(table: Table) -> list[Metric]:
    """In the order in which they are shown; conditions that are the same for all cases have no column."""
    varying = table.conditions.varying_axes
    return [metric for metric in table.shown_in(*VIEWS) if not metric.axis or metric.name in varying]


def lines(table: Table, shown: list[Metric]) -> list[dict[str, Any]]:
    """For each case the texts of its cells, in the order of the metrics in `shown`."""
    return [
        {
            "index": entry.index,
            "variant": entry.variant,
            "kind": (KINDS if entry.row.rankable else UNRANKED)[entry.row.status],
            "cells": [(metric, metric.text(entry)) for metric in shown],
        }
        for entry in table.entries
    ]
