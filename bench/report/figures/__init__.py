"""The report's figures: one file each, a pure function from the cases of a report to what is
drawn."""

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
from .ranks import ranks
from .roofline import roofline
from .scaling import scaling
from .slots import slots
from .times import times
from .versions import versions
from .winners import winners

FIGURES = (
    *(winners, times, scaling, ranks, firing, pareto, memory, stages, kinds, epochs, learning),
    *(cold_start, launch, roofline, proof, epoch_stages, kept, break_even, versions, natives),
    slots,
)
"""In the order in which a reader asks."""

NAMES = ("coverage", *(figure.__name__.replace("_", "-") for figure in FIGURES))
"""The ids of all figures."""


def figures_of(table: Table) -> list[Figure]:
    """Returns every figure of a report; an empty one says why it is empty."""
    return [figure(table) for figure in FIGURES]


__all__ = ["FIGURES", "NAMES", "Figure", "Panel", "coverage_map", "figures_of", "substituted"]
