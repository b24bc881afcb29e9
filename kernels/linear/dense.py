"""Dense float32 products on CPUs by the fastest of dense.cpp ("tile"), oneDNN and BLAS.

They are timed once, at the first use, on one core, because results must not depend on the number of
threads. The choice is cached beside the compiled kernels.
"""

import ctypes
import hashlib
import json
import time
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cache, cpp
from ..build.source import inlined

SIZE = 384
"""Rows, columns and terms of timed products: they fill no cache and take a millisecond."""

REPEATS = 9

NO_MEMORY = -2
"""NO_MEMORY of vectors.h."""

AHEAD = 1.05
"""Lead that a library needs over the tile, which alone multiplies inside the neuron's pass."""

WORK_OF_A_THREAD = 1 << 21
"""Multiplications per thread: waking a thread for fewer takes longer than computing them."""


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Writes out (m, n) = left (m, k) · right (k, n), float32; rows of `out` are contiguous."""
    WAYS[chosen("rows" if right.stride(1) == 1 else "columns")](left, right, out)


def address_of_tile() -> int:
    """Returns the address of dense.cpp's product if it multiplies contiguous rows; 0 if a library
    does."""
    return _tile()[1] if chosen("rows") == "tile" else 0


def chosen(order: str) -> str:
    """Returns the key of WAYS for a right matrix of contiguous "rows" or "columns"."""
    return choices()[order]


@lru_cache
def choices() -> dict[str, str]:
    """Returns keys of WAYS by order of the right matrix; the left one's layout does not matter."""
    key = [f"{SIZE} {REPEATS} {AHEAD}", *cpp.FLAGS, *cpp.identity(), torch.__version__]
    digest = hashlib.sha256("\0".join([inlined(_SOURCE), *key]).encode()).hexdigest()[:32]
    path = cache.cached(
        f"dense-{digest}", ".json", lambda path: path.write_text(json.dumps(_measured()))
    )
    return json.loads(path.read_text())


def _measured() -> dict[str, str]:
    matrix, threads = torch.rand(SIZE, SIZE), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        return {
            order: fastest(matrix, right)
            for order, right in (("rows", matrix), ("columns", matrix.t()))
        }
    finally:
        torch.set_num_threads(threads)


def fastest(left: Tensor, right: Tensor, clock=time.perf_counter) -> str:
    """Returns the key of WAYS with the best of REPEATS runs, in turns; a library must lead by
    AHEAD."""
    out, times = left.new_empty((len(left), right.shape[1])), dict[str, float]()
    for _ in range(REPEATS):
        for name, way in WAYS.items():
            start = clock()
            try:
                way(left, right, out)
            except (AttributeError, RuntimeError):  # this torch lacks the operator
                continue
            times[name] = min(clock() - start, times.get(name, float("inf")))
    best = min(times, key=times.__getitem__)
    return best if times[best] * AHEAD < times.get("tile", float("inf")) else "tile"


_SOURCE = Path(__file__).with_name("dense.cpp")


@lru_cache
def _tile():
    """Returns the compiled function and its address."""
    function = cpp.library(inlined(_SOURCE), ("-ffp-contract=fast",)).dense_product
    matrix = [ctypes.c_void_p, ctypes.c_int64]
    function.argtypes, function.restype = (
        [ctypes.c_int64] * 4 + [*matrix, ctypes.c_int64] * 2 + matrix,
        ctypes.c_int64,
    )
    return function, ctypes.cast(function, ctypes.c_void_p).value


def checked(answer: int) -> int:
    """Returns the result of a compiled pass. Raises MemoryError if memory was refused."""
    if answer == NO_MEMORY:
        raise MemoryError("a product of a linear layer was refused its working memory")
    return answer


def _by_tile(left: Tensor, right: Tensor, out: Tensor) -> None:
    (m, k), n = left.shape, right.shape[1]
    if not m * n * k:
        out.zero_()
        return
    threads = min(torch.get_num_threads(), 1 + m * n * k // WORK_OF_A_THREAD)
    operands = (left.data_ptr(), *left.stride(), right.data_ptr(), *right.stride())
    checked(_tile()[0](threads, m, n, k, *operands, out.data_ptr(), out.stride(0)))


def _by_onednn(left: Tensor, right: Tensor, out: Tensor) -> None:
    out.copy_(torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], ""))


def _by_blas(left: Tensor, right: Tensor, out: Tensor) -> None:
    torch.mm(left, right, out=out)


WAYS = {"tile": _by_tile, "onednn": _by_onednn, "blas": _by_blas}
"""Products by their name in records."""
