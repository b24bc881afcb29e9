"""Workers that answer orders at once, in place of processes, for tests of the order of orders."""

from dataclasses import dataclass, field
from pathlib import Path

from snnbench.core.case import PHASES
from snnbench.executors.launch import Outcome

OK = [{"part": "import", "status": "ok"}, {"part": "end", "cpu_seconds": 1.0}]


class Clock:
    """Monotonic seconds of the harness; workers move it."""

    now = 0.0


class Planned:
    """A case of that name."""

    def __init__(self, name, device="cpu"):
        self.device_type, self.ranks = device, None
        self.id, self.case, self.framework = name, self, name
        self.as_dict, self.delivers_data, self.workload = dict, False, "linear-lif"
        self.mode = "eager"


@dataclass
class Worker:
    """Answers orders at once, as its fields say, and writes them down."""

    name: str = "a"
    step: float = 0.001
    phases: tuple = PHASES
    preempted_in: set = field(default_factory=set)
    dies_in: int | None = None
    fails: str = ""
    ending: float = 1.0
    busy: float = 1.0
    """How many times longer than others the last call of a slot takes, and computes."""
    cpu: float = 0.8
    late: float | None = None
    outside: list = field(default_factory=list)
    """Cores that it uses, CPU seconds after every slot, and cores that it was not given."""
    events: list = field(default_factory=lambda: OK)
    order_s: float = 0.1
    honest: bool = True
    log: list = field(default_factory=list)
    stops: list = field(default_factory=list)
    judged: list = field(default_factory=list)
    slots: int = 0
    device: object = None
    """Of a worker on a GPU: what it answers when it is asked for times of the device."""
    ended: bool = False
    timed_out: bool = False
    timeout: float = 1e9
    seconds_left: float = 1e9
    duration_s: float = 0.0
    judged_s: float = 0.0
    arrays: Path = Path("arrays")

    def answer(self):
        return None if self.phases is None else {"prove": {"backward": True}}

    @property
    def ready(self):
        facts = {
            "device_clock": "process" if self.device is None else "events",
            "warm_up_calls": 3,
            "seconds": self.step,
            "period": self.step,
        }
        return {name: facts for name in self.phases}

    def order(self, order, stop_after=None, judged=False):
        self.log.append(order)
        self.stops.append(stop_after)
        self.judged.append(judged)
        if "right" in order:
            return {"ready": self.ready}
        if "call" in order:
            return {"value": None}
        Clock.now += self.order_s
        if "end" in order:
            return None
        if order.get("judge"):
            return {"recheck": {}}
        if "burst" in order:
            return {"took": 1e9 * self.honest}
        if "device" in order:
            return {"device": self.device}
        self.slots += 1
        if self.slots == self.dies_in:
            return None
        if order["phase"] == self.fails:
            return {"failed": "error"}
        cpu = 0.5 if self.slots in self.preempted_in else 1.0
        slot = {name: self.step for name in ("began", "wall", "low", "high", "enqueue")}
        slot |= {"calls": 5, "device": cpu * self.step, "samples": [self.step]}
        return {
            "slot": slot,
            "cpu": self.cpu * self.order_s,
            "late": self.late,
            "outside": self.outside,
            "last": 6,
            "last_wall": self.ending * self.step,
            "last_busy": self.busy * self.step,
        }

    def spend(self, seconds):
        self.duration_s += seconds

    def note_judging(self, seconds):
        self.judged_s, self.duration_s = self.judged_s + seconds, self.duration_s + seconds

    def farewell(self):
        self.order({"end": True})

    def end(self):
        self.ended = True
        return Outcome(events=self.events)


class JudgeWorker(Worker):
    """Finds everything right after two calls, or what `found` says."""

    found: list = []

    def answer(self):
        return {"ready": {}}

    def order(self, order):
        self.log.append(order)
        if "end" in order:
            return None
        if self.seconds_left <= 0:
            self.timed_out = True
            return None
        calls = sum("returned" in earlier for earlier in self.log)
        if "gone" in order:
            return {"judged": []}
        if "returned" not in order or calls % 2:
            self.part = (
                self.part if "returned" in order else "proof" if "prove" in order else "recheck"
            )
            return {"call": ["program", "spikes", str(calls)], "arguments": [], "dropped": []}
        return {"judged": [*self.found, {"part": self.part, "status": "ok"}]}


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
