"""How much memory is left for one more worker."""

import psutil

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
    """Bytes that are free in main memory, or on the GPU `cuda` or `cuda:1`."""
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return float(psutil.virtual_memory().available)
    import pynvml

    pynvml.nvmlInit()
    return float(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(int(index or 0))).free)
