"""Slots that were measured on a quiet machine, block by block with fresh processes."""

import csv

import numpy as np

from .paths import ROOT


def recorded() -> dict[tuple[str, str], np.ndarray]:
    """Log slot times (32 blocks, 10 passes) of four frameworks, two processes each, on a quiet
    machine: N = 64, T = 25."""
    slots = {}
    for row in csv.DictReader((ROOT / "tests/golden/quiet_blocks.csv").open()):
        place = slots.setdefault((row["framework"], row["copy"]), np.full((32, 10), np.nan))
        place[int(row["block"]), int(row["pass"])] = np.log(float(row["median_us"]))
    return slots
