"""Measures what the device can do at best, right after the samples, under the same limits."""

import time

from snnbench.adapters.base.case import Case

from .floor import Ceilings, mandatory

LEAST_SECONDS = 0.03  # a shorter look is at the mercy of whoever else is computing
MOST_COPIED = 1 << 28  # numbers: 1 GiB
PROBE_FLOPS = {"cpu": 2e8, "cuda": 1e11}
MOST_FLOPS = {"cpu": 1e10, "cuda": 1e13}


def measure_ceilings(program, case: Case) -> Ceilings:
    kind = case.device.split(":")[0]
    moved = mandatory(case, "forward").bytes
    count = int(min(max(moved / 8, 1024), MOST_COPIED))
    bandwidth = 8 * count / best_seconds(program.copy(count), 5)
    if case.workload == "lif":
        return Ceilings(flops=float("inf"), bytes=bandwidth)
    rows, width = case.time_steps * case.batch, case.neurons
    formats = dict.fromkeys(["fp32", *(["tf32"] if kind == "cuda" and case.precision == "tf32" else []), "bf16", "fp16"])
    few = _rows(rows, width, PROBE_FLOPS[kind])
    probed = {name: _rate(program, few, width, name, 1) for name in formats}
    many = _rows(rows, width, MOST_FLOPS[kind])
    # Formats that the device emulates are an order slower; trying them at full size would cost seconds.
    promising = [name for name, rate in probed.items() if rate >= 0.5 * max(probed.values())]
    rates = [_rate(program, many, width, name, 3) for name in promising]
    return Ceilings(flops=max([*probed.values(), *rates]), bytes=bandwidth)


def _rows(rows: int, width: int, flops: float) -> int:
    return int(max(1, min(rows, flops / (2.0 * width * width))))


def _rate(program, rows: int, width: int, name: str, repeats: int) -> float:
    return 2.0 * rows * width * width / best_seconds(program.matmul(rows, width, width, name), repeats)


def best_seconds(call, least_calls: int) -> float:
    """Shortest of at least `least_calls` calls, and of as many as fit into LEAST_SECONDS, after one that warms up."""
    call()
    calls, total, best = 0, 0.0, float("inf")
    while calls < least_calls or total < LEAST_SECONDS:
        start = time.perf_counter()
        call()
        seconds = max(time.perf_counter() - start, 1e-9)
        calls, total, best = calls + 1, total + seconds, min(best, seconds)
    return best
