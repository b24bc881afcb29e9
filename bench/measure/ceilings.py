"""Measures the best rates of a device: after the samples of a case and under its limits, or for
`snnbench doctor`."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from snnbench.adapters import registry

from ..core.case import Case
from ..core.contract import Program
from ..core.network import INPUT, Network, Node
from ..core.result import settled
from ..machine.cores import usable_cores
from .floor import CACHED, Ceilings, copied, judge_times
from .phases import Prepared
from .queued import Queue, queued_seconds, sets_beyond
from .work import mandatory, products

Sleep = Callable[[float], None]

LEAST_SECONDS = 0.03
"""Least seconds over which calls are repeated: shorter measurements are easily disturbed by
other processes."""
LEAST_QUEUED_S, MOST_IN_A_ROW, IN_A_ROW = 1e-3, 512, 32
"""Least seconds and most calls between two marks of a device; calls per wait on a device without
marks."""
EASILY_COPIED = (1 << 20, 1 << 24)
"""Bytes of copies that take longer than the call alone on every device."""
PROBE_FLOPS, MOST_FLOPS = {"cpu": 2e8, "cuda": 1e11}, {"cpu": 1e10, "cuda": 1e13}
"""Most flops of one product, when a format is tried and when its rate is measured."""
COPIED, WIDTH = [2**k for k in range(12, 28, 3)], {"cpu": 1024, "cuda": 8192}
"""Numbers that `calibrate_device` copies, 16 KiB to 512 MiB, and rows and columns of the
matrices that it multiplies."""


def measure_ceilings(program: Program, case: Case, network: Network) -> Ceilings:
    """Returns copy rates at the bytes that one forward must move, at those that it may find in a
    cache, and at EASILY_COPIED; and the rate of the network's largest matrix product by format."""
    kind = case.device_type
    moved_bytes = mandatory(case, network, "forward", 0.0).bytes
    sizes = sorted({*EASILY_COPIED, copied(moved_bytes / CACHED), copied(moved_bytes)})
    seconds = _best_on(program, kind)
    copies = {size: size / seconds([program.copy(size // 8)], 5) for size in sizes}
    largest = max(products(case, network).values(), key=lambda item: item.flops(1.0), default=None)
    if largest is None:
        return Ceilings(copies, {})
    inner, outer = largest.inner, largest.outer
    # A product that takes no longer than a call does not show the rate.
    easy_rows = PROBE_FLOPS[kind] / (2.0 * inner * outer)

    def rate(most_flops: float, name: str, repeats: int) -> float:
        rows = int(max(1, min(max(largest.rows, easy_rows), most_flops / (2.0 * inner * outer))))
        product = program.matmul(rows, inner, outer, name)
        return 2.0 * rows * inner * outer / seconds([product], repeats)

    has_tf32 = kind == "cuda" and case.precision == "tf32"
    formats = ["fp32", *["tf32"] * has_tf32, "bf16", "fp16"]
    rates = {name: rate(PROBE_FLOPS[kind], name, 1) for name in formats}
    # Emulated formats are ten times slower: at full size they would cost seconds.
    promising = [name for name, flops in rates.items() if flops >= 0.5 * max(rates.values())]
    return Ceilings(
        copies,
        rates | {name: max(rates[name], rate(MOST_FLOPS[kind], name, 3)) for name in promising},
    )


def reaching(
    program: Program,
    case: Case,
    network: Network,
    nonzero: float,
    timed: Mapping[str, float],
    sleep: Sleep = time.sleep,
) -> Ceilings:
    """Returns `measure_ceilings`. A busy machine shows low rates: they are measured again, up to
    four times, while they would refuse one of the `timed` seconds by phase."""
    ceilings = measure_ceilings(program, case, network)
    for pause in (0.2, 0.4, 0.8, 1.6):
        judged = judge_times(case, network, ceilings, nonzero, timed).values()
        if not any(phase.reason for phase in judged):
            break
        sleep(pause)
        ceilings = measure_ceilings(program, case, network)
    return ceilings


def calibrate_device(device: str) -> Ceilings:
    """Returns copy rates by working-set size, and rates of square matrix products by format."""
    case = Case("torch", device=device)
    network = Network((8,), (Node("neuron1", "neuron", (INPUT,), {"neuron": case.neuron}),))
    adapter = registry.load(registry.FRAMEWORKS["torch"])
    adapter.prepare(case, len(usable_cores()))
    program = adapter.program(case, network)
    kind = device.split(":")[0]
    seconds, cold = _best_on(program, kind), dict[int, float]()
    copies = {8 * count: 8 * count / seconds([program.copy(count)], 5) for count in COPIED}
    if queue := program.device_queue():
        sets = {count: sets_beyond(queue.cache_bytes, 8 * count) for count in COPIED}
        cold = {
            8 * n: 8 * n / seconds([program.copy(n) for _ in range(many)], 5)
            for n, many in sets.items()
            if many
        }
    side = WIDTH[kind]
    products = {
        name: 2.0 * side**3 / seconds([program.matmul(side, side, side, name)], 3)
        for name in ("fp32", "bf16")
    }
    return Ceilings(copies, products, cold)


def _best_on(program: Program, kind: str) -> Callable[[Sequence[Callable[[], object]], int], float]:
    """Returns the function that measures the shortest seconds of calls: by the device's clock if
    it has one, else with one wait for many calls, so that the wait hardly counts."""
    if queue := program.device_queue():
        return partial(best_queued, queue)
    return partial(best_seconds, 1 if kind == "cpu" else IN_A_ROW)


def best_queued(queue: Queue, calls: Sequence[Callable[[], object]], repeats: int) -> float:
    """Returns the shortest of `repeats` means, each over LEAST_QUEUED_S seconds and all of
    `calls`. The calls take turns: a call that is repeated alone finds its data in the cache."""
    for call in calls:
        call()
    count, best = len(calls), float("inf")
    for _ in range(repeats):
        in_turn = [Prepared(calls[number % len(calls)]) for number in range(count)]
        seconds = queued_seconds(queue, in_turn.copy, MOST_IN_A_ROW, keep=False)
        if seconds is None:
            raise RuntimeError(
                "the host cannot ask for copies and products as fast as the device makes them"
            )
        best = min(best, max(seconds, 1e-9))
        count = max(len(calls), min(MOST_IN_A_ROW, round(LEAST_QUEUED_S / best) or 1))
    return best


def best_seconds(in_a_row: int, calls: Sequence[Callable[[], object]], least_calls: int) -> float:
    """Returns the shortest mean of `in_a_row` calls with one wait, over at least `least_calls`
    repetitions and LEAST_SECONDS, after a warm-up call."""
    settled({"result": calls[0]()})
    done, total, best = 0, 0.0, float("inf")
    while done < least_calls or total < LEAST_SECONDS:
        start = time.perf_counter()
        for number in range(in_a_row):
            result = calls[number % len(calls)]()
        settled({"result": result})
        seconds = max(time.perf_counter() - start, 1e-9)
        done, total, best = done + 1, total + seconds, min(best, seconds / in_a_row)
    return best
