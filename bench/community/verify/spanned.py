"""The plan of a bundle that has none, as far as its experiment tells it."""

from dataclasses import replace
from math import prod
from typing import Any

from ...core.case import DATA, full_name
from ...experiment.config import Experiment
from ...experiment.grid import VARIANT, excludes, points
from ..bundle import Bundle

MEASURED = "measure"
"""Of an experiment: how it is measured, which says nothing of its cases."""
MOST_POINTS = 20_000
"""Of a grid that is looked at: a forged one of millions would take hours."""


def planned_of(bundle: Bundle) -> dict[str, str]:
    """Names of cases by their ids: the plan, or else what the experiment spans."""
    return bundle.planned or spanned_by(bundle)


def spanned_by(bundle: Bundle) -> dict[str, str]:
    """Every combination of the experiment's grid in all variants that have a record: names by ids. Empty without an experiment
    that this version understands."""
    if not bundle.experiment:
        return {}
    try:
        return _spanned(
            bundle, {name: value for name, value in bundle.experiment.items() if name != MEASURED}
        )
    except Exception:  # of another version, or anybody's: its records are judged without a plan
        return {}


def _spanned(bundle: Bundle, values: dict[str, Any]) -> dict[str, str]:
    if prod(len(axis) for axis in values["grid"].values() if isinstance(axis, list)) > MOST_POINTS:
        return {}
    experiment = Experiment.model_validate(values)
    known = [record.typed_case for record in bundle.records]
    of_data = dict.fromkeys(
        (case.framework, case.construction, case.mode, case.workload == DATA) for case in known
    )
    cases = (
        replace(point, framework=framework, construction=construction, mode=mode)
        for point in points(experiment, sorted({case.device for case in known}))
        for framework, construction, mode, data in of_data
        if data == (point.workload == DATA)
    )
    of_variants = [entry for entry in experiment.exclude if not entry.keys().isdisjoint(VARIANT)]
    return {
        case.id: full_name(case)
        for case in cases
        if not any(excludes(entry, case) for entry in of_variants)
    }
