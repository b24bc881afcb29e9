"""What a kernel takes without the host and of which copies that is how much, on a device of
numbers."""

from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest
from support.simulated_device import SimulatedDevice

from snnbench.measure import kernel_times as room
from snnbench.measure.floor import Ceilings
from snnbench.measure.kernel_times import kernel_times, timed

MIB, START_S, COLD, WARM = 1 << 20, 1e-6, 4e12, 8e12
CEILINGS = Ceilings(
    {MIB: 5e12, 16 * MIB: WARM, 64 * MIB: 7e12}, {}, {16 * MIB: 3e12, 512 * MIB: COLD}
)


def simulated(**given):
    return SimulatedDevice(cold=START_S, warm=START_S, rates=(COLD, WARM), **given)


def kernel_of(device, nbytes, launches=1, flops=0.0):
    memory = count()

    def prepare():
        own = next(memory)

        def call():
            for _ in range(launches):
                device.kernel(own, nbytes)

        return call, nbytes

    return SimpleNamespace(
        name="lif forward",
        spelling="cuda",
        format="fp32",
        shape=(37, 3, 97),
        flops=flops,
        prepare=prepare,
    )


@pytest.mark.parametrize("nbytes", [MIB, 16 * MIB, 200 * MIB])
def test_a_kernel_has_no_launch_in_it_and_its_shares_are_of_copies_like_it(nbytes):
    device = simulated()
    told = kernel_times(device, kernel_of(device, nbytes), CEILINGS)
    cold, warm = START_S + nbytes / COLD, START_S + nbytes / (WARM if nbytes < 50 * MIB else COLD)
    assert told["cold_s"] == pytest.approx(cold, rel=1e-3) and told["warm_s"] == pytest.approx(
        warm, rel=1e-3
    )
    assert told["cold_share"] == pytest.approx(nbytes / cold / COLD, rel=1e-3)
    assert told["warm_share"] == pytest.approx(nbytes / warm / CEILINGS.bytes(nbytes), rel=1e-3)
    assert told["bytes"] == nbytes


def test_calls_on_memory_that_the_cache_holds_would_be_told_as_cold(monkeypatch):
    """Planted: two sets of buffers, whatever the cache holds."""
    device = simulated()
    honest = kernel_times(device, kernel_of(device, 7 * MIB), CEILINGS)
    monkeypatch.setattr(room, "sets_beyond", lambda *_: 2)
    planted = kernel_times(device, kernel_of(device, 7 * MIB), CEILINGS)
    assert planted["cold_share"] > 1.4 * honest["cold_share"]
    assert planted["warm_share"] == pytest.approx(honest["warm_share"])


def test_a_call_of_a_dozen_kernels_fits_into_the_queue():
    device = simulated()
    told = kernel_times(device, kernel_of(device, 2 * MIB, launches=12), CEILINGS)
    assert told["warm_s"] == pytest.approx(12 * (START_S + 2 * MIB / WARM), rel=0.01)


def test_small_ones_have_no_cold_time_and_what_the_host_holds_back_has_none(monkeypatch):
    device = simulated()
    small = kernel_times(device, kernel_of(device, MIB // 8), CEILINGS)
    assert small["cold_s"] is small["cold_share"] is None and small["warm_s"] > 0
    for name in ("REPEATS", "TOGETHER", "LEAST_CALLS"):
        monkeypatch.setattr(room, name, 1)
    slow = kernel_times(device, kernel_of(device, 200 * MIB, launches=1100), CEILINGS)
    assert [slow[name] for name in ("warm_s", "warm_share", "cold_s", "cold_share")] == [None] * 4


def test_where_no_cold_copy_was_measured_there_is_no_share_of_it():
    device = simulated()
    told = kernel_times(device, kernel_of(device, 7 * MIB), Ceilings(CEILINGS.copies, {}))
    assert told["cold_s"] > 0 and told["cold_share"] is None and told["warm_share"] > 0


def test_one_that_cannot_run_says_why_and_the_others_are_timed():
    device = simulated()

    def fails(error):
        raise error

    kernels = [kernel_of(device, MIB) for _ in range(3)]
    for kernel, error in zip(
        kernels, (RuntimeError("no compiler"), MemoryError("too large")), strict=False
    ):
        kernel.prepare = partial(fails, error)
    one, other, last = timed(device, kernels, CEILINGS)
    assert (one["reason"], other["reason"]) == ("no compiler", "MemoryError: too large")
    assert "reason" not in last and last["warm_s"] > 0 and last["shape"] == [37, 3, 97]
