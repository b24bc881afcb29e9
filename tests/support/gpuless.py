"""Triton without a GPU: a driver for compiling."""

from collections.abc import Iterator
from contextlib import contextmanager

import triton
from triton.backends.compiler import GPUTarget


class Driver:
    """Replaces the driver of a GPU: it has only what compiling calls."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


@contextmanager
def compiling_only() -> Iterator[None]:
    """Without a GPU Triton compiles, and runs nothing."""
    before = triton.runtime.driver._active
    triton.runtime.driver.set_active(Driver())
    try:
        yield
    finally:
        triton.runtime.driver._active = before
