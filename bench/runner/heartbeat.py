"""A line at least every 30 s where nobody sees a progress bar: what runs, and for how long."""

import threading
import time
from collections.abc import Callable

from ..common import units

EVERY_S = 30.0


class Heartbeat:
    """Says by `say` what runs, when nothing was said for `every` seconds of `clock`. As a context it does so in a thread, which
    wakes up only then: it computes on the cores that are being measured.

    with Heartbeat(print) as heartbeat:
        heartbeat.runs("proving norse")
    """

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        every: float = EVERY_S,
    ):
        self.say, self.clock, self.every = say, clock, every
        self.what, self.since, self.last = "", clock(), clock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def runs(self, what: str) -> None:
        """This runs from now on."""
        self.what, self.since = what, self.clock()

    def was_said(self) -> None:
        """Somebody said something else."""
        self.last = self.clock()

    def beat(self) -> float:
        """Say what runs, if it is time; the seconds until it is again."""
        now = self.clock()
        if now - self.last >= self.every:
            self.last = now
            if self.what:
                self.say(f"{self.what} · {units.duration(now - self.since)}")
        return self.every - (now - self.last)

    def _watch(self) -> None:
        while not self._over.wait(self.beat()):
            pass
