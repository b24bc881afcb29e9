"""Strategies with real caches that stand still, or find the disk full, in the middle of what
they write."""

import os
import resource
import signal
import sys
from functools import cached_property
from pathlib import Path

from snnbench.data.strategies import frames_strategies, tonic_strategies
from snnbench.data.strategies.loading import Loading

WHEN = 5
"""The recording at which they stand still."""


def stand_still(number):
    """While the test holds it by a file."""
    notes = Path(os.environ["SNNBENCH_TEST_NOTES"])
    if number == WHEN and (notes / "hold").exists():
        (notes / "held").touch()
        while (notes / "hold").exists():
            signal.sigtimedwait([signal.SIGUSR1], 0.02)


class Held:
    """tonic's recordings."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        stand_still(number)
        return self.items[number]


class _HeldDisk(tonic_strategies.DiskCache):
    @cached_property
    def recordings(self):
        return Held(super().recordings)


class _HeldMemmap(frames_strategies.Memmap):
    def counts(self):
        for number, one in enumerate(super().counts()):
            stand_still(number)
            yield one


def full(of):
    """The strategy in a process that may write 3,000 bytes into a file: the kernel refuses more,
    as it does on a full disk."""

    class Full(of):
        def build(self):
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            sys.dont_write_bytecode = True  # of what is imported meanwhile half would be kept
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
            try:
                super().build()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return Full


class Cached(Loading):
    requires = ("torch", "h5py", "tonic")
    of = None

    def strategy(self, case, folder, cache):
        return self.of(case, folder, cache)


class HeldDisk(Cached):
    name, of = "held-disk", _HeldDisk


class HeldMemmap(Cached):
    name, of = "held-memmap", _HeldMemmap


class FullDisk(Cached):
    name, of = "full-disk", full(tonic_strategies.DiskCache)


class FullMemmap(Cached):
    name, of = "full-memmap", full(frames_strategies.Memmap)
