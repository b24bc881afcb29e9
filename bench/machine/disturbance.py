"""What spoils a slot: a core that somebody else had, other programs, a device that slowed itself down."""

from typing import Any

import psutil

MOST_WAITED = 1.05
"""Wall over CPU time of a slot on one core."""
MOST_IDLE = 0.25
"""Share of a slot in which none of a worker's threads computed, on however many cores: it was stopped, or waited for a core."""
MOST_FOREIGN_CORES = 0.5
"""Cores that other programs may use during a slot on several: the system counts in steps of 10 ms."""


class Busy:
    """How many cores this machine's programs used since it was made."""

    def __init__(self) -> None:
        self.before = busy_seconds()

    def foreign_cores(self, own_cpu: float, elapsed: float) -> float:
        """Those that others used, if our own used `own_cpu` seconds in `elapsed`."""
        return max(busy_seconds() - self.before - own_cpu, 0.0) / elapsed if elapsed > 0 else 0.0


def busy_seconds() -> float:
    """CPU time of all programs on all cores since the machine booted."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def disturbance(
    slot: dict[str, Any],
    device_clock: str,
    cores: int,
    cpu: float,
    elapsed: float,
    foreign_cores: float,
    slowed: bool,
) -> str | None:
    """What spoilt a slot on `cores` cores, in words; None if nothing did. The worker used `cpu` seconds of them in the `elapsed`
    seconds that the harness saw pass. `slowed`: the device slowed itself down meanwhile."""
    if slowed:
        return "throttled"
    if device_clock != "process":
        return None
    if cpu < (1 - MOST_IDLE) * elapsed or (
        cores == 1 and slot["wall"] > MOST_WAITED * slot["device"]
    ):
        return "preempted"
    return "other programs" if cores > 1 and foreign_cores > MOST_FOREIGN_CORES else None
