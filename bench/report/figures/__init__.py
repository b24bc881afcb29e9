"""Rows → figures: one file for each, a pure function from the cases of a report to what is drawn."""

from collections.abc import Sequence

from ..table import Table
from .breakdown import kinds, stages
from .cold_start import cold_start
from .coverage_map import coverage_map
from .delivery import break_even, epoch_stages, kept
from .figure import Figure, Panel, substituted
from .firing import firing
from .launch import launch
from .learning import learning
from .memory import memory
from .natives import natives
from .pareto import epochs, pareto
from .proof import proof
from .published import Published, published, read_published
from .ranks import ranks
from .roofline import roofline
from .scaling import scaling
from .slots import slots
from .times import times
from .versions import versions
from .winners import winners

FIGURES = (
    *(
        winners,
        times,
        scaling,
        ranks,
        firing,
        pareto,
        memory,
        stages,
        kinds,
        epochs,
        learning,
        cold_start,
        launch,
        roofline,
    ),
    *(proof, epoch_stages, kept, break_even, versions, natives, slots),
)
"""In the order in which a reader asks."""

NAMES = ("coverage", *(figure.__name__.replace("_", "-") for figure in FIGURES), "published")
"""The ids of all figures."""


def figures_of(table: Table, theirs: Sequence[Published] = ()) -> list[Figure]:
    """Every figure of a report, also those that have nothing to show and say why."""
    figures = [figure(table) for figure in FIGURES]
    return [*figures, published(table, theirs)] if theirs else figures


__all__ = [
    "FIGURES",
    "NAMES",
    "Figure",
    "Panel",
    "Published",
    "coverage_map",
    "figures_of",
    "read_published",
    "substituted",
]
