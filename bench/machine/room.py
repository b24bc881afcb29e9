"""How much memory is left for one more worker."""

from math import inf, nan

import psutil

from .job import room_for_workers
from .nvml import answer, handle_of

MOST_OF_HOST, MOST_OF_GPU = 0.5, 0.8
"""Shares of the memory that was free, or of a GPU's, that workers which are alive together may fill."""


class Room:
    """Made before the first worker starts; `note` is called when one more has started and warmed up."""

    def __init__(self, device: str):
        self.device = device
        self.at_first = self.left = _free(device)
        self.limit = self.at_first * (MOST_OF_HOST if device == "cpu" else MOST_OF_GPU)
        self.largest = 0.0

    def note(self) -> None:
        now = _free(self.device)
        self.largest, self.left = max(self.largest, self.left - now), now

    @property
    def for_one_more(self) -> bool:
        """Whether another worker like the largest so far would fit."""
        return self.at_first - self.left + self.largest <= self.limit


def _free(device: str) -> float:
    """Bytes that are free in main memory, or of the job's share of it, or on the GPU `cuda` or `cuda:1`; NaN, with which there
    is no room for one more, where its driver does not tell."""
    kind, _, index = device.partition(":")
    if kind == "cpu":
        room = room_for_workers()
        return float(min(psutil.virtual_memory().available, inf if room is None else room))
    import pynvml

    handle = handle_of(int(index or 0))
    free = (
        answer(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).free) if handle is not None else None
    )
    return nan if free is None else float(free)
