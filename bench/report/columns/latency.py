"""Columns on single calls with a batch of 1: how long the answer to one sample takes."""

from typing import Any

import numpy as np

from ...common import units
from ...records.rows import Row
from .metric import SUMMARY, Entry, Metric


def _latency(share: float) -> Metric:
    """Returns the metric of a quantile of the recorded calls of the phase that ranks, in
    undisturbed slots of all blocks; None with fewer calls than one beyond the quantile needs."""
    name = f"p{round(100 * share)}"
    least = round(1 / (1 - share))

    def value(row: Row) -> float | None:
        if row.case.batch != 1 or row.case.delivers_data:
            return None
        slots = (slot for timing in row.timings(row.ranked) for slot in timing.slots)
        calls = [seconds for slot in slots if not slot.disturbed for seconds in slot.samples]
        return float(np.quantile(calls, share)) if len(calls) >= least else None

    def text(entry: Entry) -> str:
        seconds: Any = entry.values[metric.name]
        shown = seconds is not None and entry.shows(entry.row.ranked)
        return units.seconds(seconds) if shown else ""

    hint = f"{100 * share:g} % of the recorded single calls with a batch of 1 took at most this"
    views = f"times {SUMMARY}"
    place = 203 if share < 0.9 else 204
    metric = Metric(f"latency_{name}_s", value, "s", name, hint, views, place, text)
    return metric


LATENCY = _latency(0.5), _latency(0.99)
