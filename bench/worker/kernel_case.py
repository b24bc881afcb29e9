"""Times of the project's own kernels on a GPU, each for itself: one that fails says why, and the others go on."""

from collections.abc import Iterable, Iterator
from typing import Any

from snnbench.adapters.base.own_kernels import OwnKernel

from ..core.status import in_words
from ..measure.floor import Ceilings
from ..measure.kernel_times import kernel_times
from ..measure.queued import Queue


def timed(
    queue: Queue, kernels: Iterable[OwnKernel], ceilings: Ceilings
) -> Iterator[dict[str, Any]]:
    """By kernel what it is, and what `kernel_times` tells of it or the `reason` why it could not be timed."""
    for kernel in kernels:
        told = {
            "name": kernel.name,
            "spelling": kernel.spelling,
            "format": kernel.format,
            "shape": list(kernel.shape),
        }
        try:
            yield told | kernel_times(queue, kernel, ceilings)
        except Exception as error:
            yield told | {"reason": str(error) if type(error) is RuntimeError else in_words(error)}
