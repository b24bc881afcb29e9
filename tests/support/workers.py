"""Workers that answer orders at once, in place of processes, for tests of who is ordered to do what."""

from dataclasses import dataclass, field

from snnbench.adapters.base.case import PHASES
from snnbench.executors.launch import Outcome

OK = [{"part": "import", "status": "ok"}, {"part": "end", "cpu_seconds": 1.0}]


class Clock:
    """Monotonic seconds of the harness; workers move it."""

    now = 0.0


@dataclass
class Worker:
    """Answers orders at once, as its fields say, and writes them down."""

    name: str = "a"
    step: float = 0.001
    phases: tuple = PHASES
    preempted_in: set = field(default_factory=set)
    dies_in: int | None = None
    fails: str = ""
    events: list = field(default_factory=lambda: OK)
    order_s: float = 0.1
    log: list = field(default_factory=list)
    slots: int = 0
    ended: bool = False

    def answer(self):
        if self.phases is None:
            return None
        ready = {"device_clock": "process", "warm_up_calls": 3}
        return {"ready": {name: {**ready, "seconds": self.step} for name in self.phases}}

    def order(self, order):
        self.log.append(order)
        Clock.now += self.order_s
        if "end" in order:
            return None
        if order.get("judge"):
            return {"right": True}
        self.slots += 1
        if self.slots == self.dies_in:
            return None
        if order["phase"] == self.fails:
            return {"failed": "error"}
        cpu = 0.5 if self.slots in self.preempted_in else 1.0
        slot = {name: self.step for name in ("began", "wall", "low", "high", "enqueue")}
        return {"slot": {**slot, "calls": 5, "device": cpu * self.step, "samples": [self.step]}, "cpu": 0.08}

    def end(self):
        self.ended = True
        return Outcome(events=self.events)


class Canary(Worker):
    def order(self, order):
        self.log.append(order)
        return {"wall": 0.03, "cpu": 0.03 if len(self.log) != 2 else 0.01}


class Monitor:
    """Sees nothing."""

    def __init__(self, *_):
        self.facts = {"watched": {}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def slowed_since(self, start):
        return False

    def note_workers(self, seconds):
        self.facts["workers"] = seconds
