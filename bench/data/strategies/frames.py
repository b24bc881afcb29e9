"""This project's strategies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...core.case import Case
from .loading import Loading

if TYPE_CHECKING:
    from .base import Strategy


class Frames(Loading):
    name = "frames"
    requires = ("torch", "h5py")
    distribution = "snnbench"
    constructions = {"packed": set(), "uint8": set(), "memmap": {"loader"}}

    def strategy(self, case: Case, folder: Path, cache: Path) -> Strategy:
        from .frames_strategies import Memmap, Packed, Uint8

        named: dict[str, type[Strategy]] = {"packed": Packed, "uint8": Uint8, "memmap": Memmap}
        return named[case.construction](case, folder, cache)
