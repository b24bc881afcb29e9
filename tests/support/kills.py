"""Commands that are killed at any moment: what was there before is there after, and the same
command then comes to its end.

`make kills SEED=1 PART=1/4` kills a quarter of 300: reports and merges, runs of a stub framework,
every fifteenth of a real one. `env create` is killed in tests/environments/test_interrupted.py.
"""

import argparse
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from .command_line import Snnbench
from .fuzz import Arena

EVERY = 300
ADAPTERS = ["held.py:Held"]
SIZES = 'neurons = [41, 97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'


def killed(snnbench: Snnbench, after: float, *arguments: object) -> bool:
    """Whether the command still ran after so many seconds; then it and nothing else is killed."""
    process = snnbench.start(*arguments)
    try:
        process.communicate(timeout=after)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True


def records(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "records").glob("[!.]*.json")}


def report(arena: Arena, random: Random) -> None:
    after = random.uniform(0.05, 2.5)
    with arena.untouched():
        killed(arena.command, after, "report", arena.base)
        ended = arena.command("report", arena.base)
    assert ended.exit_code == 0, ended.stderr


def merge(arena: Arena, random: Random) -> None:
    merged = arena.out / "merged"
    with arena.untouched():
        killed(arena.command, random.uniform(0.05, 2.5), "merge", arena.base, "--out", merged)
        assert records(merged) in ({}, records(arena.base)), "a part of the records"
        ended = arena.command("merge", arena.base, "--out", merged)
    assert ended.exit_code == 0 and records(merged) == records(arena.base), ended.stderr


def run(arena: Arena, random: Random, framework: str = "held") -> None:
    config = arena.command.config([framework], ADAPTERS, SIZES, "blocks = 2")
    with arena.untouched():
        found: dict[str, bytes] = {}
        for _ in range(2):
            killed(
                arena.command,
                random.uniform(0.2, 6.0),
                "run",
                "--config",
                config,
                "--out",
                arena.out,
            )
            now = records(arena.out)
            assert {name: now.get(name) for name in found} == found, (
                "a finished record was lost or written again"
            )
            found = now
        ended = arena.command("run", "--config", config, "--out", arena.out)
    now = records(arena.out)
    assert ended.exit_code == 0 and len(now) == 4, ended.stderr
    assert {name: now.get(name) for name in found} == found


def real(arena: Arena, random: Random) -> None:
    run(arena, random, "torch")


def tried(kind: Callable[[Arena, Random], None], number: int) -> None:
    """One example; `number` seeds it."""
    folder = Path(tempfile.mkdtemp())
    try:
        arena = Arena(folder)
        arena.clear()
        kind(arena, Random(number))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    started = time.monotonic()
    for number in range(part - 1, EVERY, parts):
        kind = real if number % 15 == 0 else (report, merge, run)[number % 3]
        tried(kind, EVERY * options.seed + number)
        print(f"{number}: {kind.__name__}, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
