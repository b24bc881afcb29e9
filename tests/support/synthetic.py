"""Made-up records of the shape that a run writes, for tests of what is derived from records."""

from hashlib import sha256
from math import exp
from random import Random

from snnbench.core.case import USUAL_PHASES, Case
from snnbench.kernels.spec import NEURONS
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.figures import FIGURES, NAMES, Figure
from snnbench.report.table import Table

HOSTILE = """</script><script>alert("x")</script><img src='http://evil.example/x.png' onerror=alert(1)>{{ 7*7 }}"""
WATCHED = {"at": [99.0, 100.01, 100.03], "mhz": [3100.0, 3050.0, 2900.0]}
SHARES = dict(zip(USUAL_PHASES, (0.4, 0.5, 1.0, 0.3), strict=True))


PASSES = 6
NOISE = 0.004
BLOCKS = 3


def timing(
    seconds: float,
    block: int = 0,
    device: str = "cpu",
    passes: int = PASSES,
    noise: float = 0.0,
    seed: str = "",
) -> dict:
    """Slots of one block from 100 s on, ten a second. The machine slows down by 1 % from pass to
    pass, for every case alike; `noise` is the spread of what a case has of its own."""
    random = Random(f"{seed} {block}")
    slots = []
    for number in range(passes):
        wall = seconds * (1 + 0.01 * (number % 5)) * exp(noise * random.gauss(0, 1))
        spread = {
            "wall": wall,
            "low": 0.99 * wall,
            "high": 1.02 * wall,
            "enqueue": 0.5 * wall,
            "device": wall,
        }
        calls = [wall * (1 + 0.01 * (i % 4)) for i in range(8)]
        slots.append(
            {
                "pass": number,
                "began": 100 + 0.1 * number,
                "calls": 8,
                "samples": calls,
                "elapsed": 0.1,
                **spread,
            }
        )
    return {
        "device_clock": "process" if device == "cpu" else "events",
        "warm_up_calls": 3,
        "slots": slots,
    }


def record(
    framework="torch",
    status="ok",
    reason=None,
    block=0,
    step=0.004,
    machine="m1",
    passed=True,
    passes=PASSES,
    noise=0.0,
    alive="together",
    **case,
) -> Record:
    """A record as a run writes it; of one that is not ok only the forward phase went well.
    Records of one `block` with the same text `alive` were alive together; None: it ran alone."""
    case = Case(framework, **case)
    parts = {name: {"status": "ok", "seconds": 0.25} for name in ("import", "build", "first_call")}
    for phase, share in SHARES.items():
        good = status == "ok" or phase == "forward"
        slots = timing(share * step, block, case.device, passes, noise, f"{case.id} {phase}")
        timed = {"status": "ok", "timing": slots, "floor_s": 0.07 * share * step}
        parts[phase] = timed if good else {"status": status, "reason": reason}
    findings = [] if passed else [reason]
    errors = {"weight": 4.5e-7, "bias": 4.2e-7, "input": 4.8e-7}
    stage = {
        "findings": findings,
        "wrong_decisions": 1e-6,
        "errors": errors,
        "firing_rate": 0.151,
        "grad_error": 4.8e-7,
    }
    stages = [{"name": f"own size, {case.precision}", "passed": passed, **stage}]
    size = case.neurons or case.width or case.samples or 1
    weighed = {
        p: {"peak_bytes": size << 13, "extra_bytes": size << 11, "reserved_bytes": None}
        for p in USUAL_PHASES
    }
    return Record(
        snnbench="0.1.0",
        case_id=case.id,
        case=case.as_dict(),
        set="made-up",
        block=block,
        live_set=alive and sha256(f"{alive} {block}".encode()).hexdigest()[:12],
        done_key="0" * 12,
        status=status,
        reason=reason,
        parts=parts,
        facts={"output_dtype": "float32", "spike_mismatch": 0.0, "compile_s": 0.1},
        proof=None
        if block
        else {"passed": passed, "reason": None, "stages": stages, "gains": [1.134]},
        memory={} if block else weighed,
        memory_meaning="XLA allocated" if framework == "jax" else "host resident",
        adapter={
            "name": framework,
            "version": "1.0",
            "reference": "a:B",
            "source_sha256": "c" * 64,
        },
        environment={
            "name": "default",
            "hash": "e",
            "python": "CPython 3.11.7",
            "devices": ["cpu"],
        },
        machine={
            "cpu": "AMD EPYC",
            "usable_threads": 2,
            "memory_bytes": 2**34,
            "gpus": [],
            "hash": machine,
        },
        measure={
            "blocks": BLOCKS,
            "passes": passes,
            "slot": 0.1,
            "timeout": 120.0,
            "host_memory": 2**34,
            "threads": 0,
        },
        monitor={
            "null_s": 0.12,
            "foreign_cores": 0.02,
            "watched": WATCHED,
            "canary": [0.03] * passes,
        },
        started_at="2026-11-20T13:31:34+00:00",
        duration_s=2.0,
        overhead_s=0.16,
    )


def unmeasured(framework: str, status: str, **case) -> Record:
    """What is left of a case that ended before anything was timed."""
    empty = {
        "parts": {},
        "facts": {},
        "proof": None,
        "memory": {},
        "memory_meaning": None,
        "overhead_s": None,
        "monitor": {},
    }
    return record(framework, status, f"why {framework} is {status}", **case).model_copy(
        update=empty
    )


def blocks(framework: str, count: int = BLOCKS, **fields) -> list[Record]:
    """The records of one case."""
    return [record(framework, block=number, **fields) for number in range(count)]


def ranked_by(phase: str, records: list[Record], alone: bool = True) -> list[Record]:
    """The same as of a run that times `phase` alone, or that ranks by it among all phases."""
    for record in records:
        if alone:
            record.measure["phases"] = [phase]
            for name in {*SHARES} - {phase}:
                record.parts.pop(name, None)
                record.memory.pop(name, None)
        else:
            record.measure |= {"phases": [*SHARES], "rank_by": phase}
    return records


def disturbed(records: list[Record], every: int, phase: str = "step") -> list[Record]:
    """The same with every so manieth slot disturbed, and three times as long."""
    for record in records:
        for slot in record.timing(phase).slots[::every]:
            slot.disturbed, slot.wall = "preempted", 3 * slot.wall
    return records


def table_of(records: list[Record], baseline: str = "") -> Table:
    return Table(rows_of(records), baseline)


def figure(table: Table, id: str) -> Figure:
    made = FIGURES[NAMES.index(id) - 1](table)
    assert made.id == id
    return made


def example() -> list[Record]:
    """The shape of configs/example.toml: sizes and precisions, two neurons, one missing row, one
    framework that hardly scales."""
    records = []
    speeds = {
        "fused": 1.0,
        "jax": 1.3,
        "torch": 2.2,
        "norse": 3.1,
        "spikingjelly": 2.6,
        "snntorch": 4.0,
    }
    for neuron in ("soft", "hard"):
        for precision, gain in (("fp32", 1.0), ("bf16", 0.7)):
            for steps in (100, 500):
                for size in (64, 256, 1024):
                    case = {
                        "neuron": NEURONS[neuron],
                        "precision": precision,
                        "time_steps": steps,
                        "neurons": size,
                    }
                    for place, (name, slow) in enumerate(speeds.items()):
                        issued, worked = (
                            2e-5 * slow * steps,
                            gain * (1 + 0.1 * place) * 4e-12 * steps * 16 * size**2,
                        )
                        records += blocks(
                            name, step=issued + worked * (3 - slow / 2), noise=NOISE, **case
                        )
                    records.append(unmeasured("rockpool", "unsupported", **case))
                    slow = {"mode": "compile", **case}
                    records += blocks(
                        "norse",
                        step=1.1e-5 * steps + 5e-12 * steps * 16 * size**2,
                        noise=NOISE,
                        **slow,
                    )
    records[-1] = record(
        "norse", "timeout", "no end after 600 s, stopped in part 'backward'", mode="compile", **case
    )
    return records[:-BLOCKS] + records[-1:]


def many(cases: int = 2000) -> list[Record]:
    """At least this many cases: twenty variants at a hundred conditions."""
    names = [(name, mode) for name in "abcdefghij" for mode in ("eager", "compile")]
    records = []
    for index in range(-(-cases // len(names))):
        neurons, steps, precision = (
            128 << index % 5,
            (10, 50, 100, 500)[index // 5 % 4],
            ("fp32", "bf16", "fp16", "tf32", "amp-bf16")[index // 20],
        )
        for place, (name, mode) in enumerate(names):
            sizes = {"neurons": neurons, "time_steps": steps, "precision": precision, "mode": mode}
            step = 1e-7 * steps * (neurons + 100 * place)
            records.append(record(f"framework-{name}", step=step, **sizes))
    return records
