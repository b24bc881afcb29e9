"""A GPU of numbers: a host's clock that asking moves, a queue that is worked off in order, and a
cache that forgets."""

from collections import OrderedDict

LAUNCH_S, MARK_S, WAIT_S, ROOM, CYCLES_PER_S = 8e-6, 1e-6, 12e-6, 1024, 1.8e9


class SimulatedDevice:
    """`queue` of a program. A kernel takes `cold` seconds, or `warm` ones where the cache holds
    what it reads and writes, and those that its bytes take at `rates`, cold and warm. Where the
    queue has no room left the host waits, as CUDA's does."""

    def __init__(
        self, cold=3e-6, warm=1e-6, cache_bytes=50 << 20, launch=LAUNCH_S, rates=(float("inf"),) * 2
    ):
        self.cold, self.warm, self.cache_bytes, self.launch_s = cold, warm, cache_bytes, launch
        self.rates = rates
        self.now = self.free = 5.0
        self.ends, self.cached = [], OrderedDict()

    def perf_counter(self):
        return self.now

    def _ask(self, host, device):
        self.now += host
        self.ends = [end for end in self.ends if end > self.now]
        if len(self.ends) >= ROOM:
            self.now = self.ends[-ROOM]
        self.free = max(self.now, self.free) + device
        self.ends.append(self.free)

    def kernel(self, memory, size):
        """Ask for a kernel that reads and writes `size` bytes, which are called `memory`."""
        hit = memory in self.cached
        self.cached[memory] = size
        self.cached.move_to_end(memory)
        while sum(self.cached.values()) > self.cache_bytes and len(self.cached) > 1:
            self.cached.popitem(last=False)
        hit = hit and size <= self.cache_bytes
        self._ask(
            self.launch_s,
            self.warm + size / self.rates[1] if hit else self.cold + size / self.rates[0],
        )

    def hold(self, cycles):
        self._ask(self.launch_s, cycles / CYCLES_PER_S)

    def flush(self, size):
        self.kernel("scratch", size)

    def mark(self):
        self.now += MARK_S
        return max(self.now, self.free)

    def reached(self, mark):
        return self.now >= mark

    def seconds(self, first, last):
        return last - first

    def wait(self):
        self.now = max(self.now, self.free) + WAIT_S
