"""No config, record, event or command line may end in a traceback or an exit code that is not
documented, take more than MOST_CPU_S or MOST_KIB, or change a record or anything outside the output
folder.

`make fuzz SEED=1 PART=1/4` tries a quarter of 10,000 of each, and of 200 command lines as real
commands.
"""

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from platformdirs import user_cache_path

from snnbench.community.bundle import bundle_of, text_of
from snnbench.core.jobs import Inquiry
from snnbench.core.status import STATUSES
from snnbench.core.variant import VariantPattern
from snnbench.environments.inventory import take_inventory
from snnbench.executors.events import read_events
from snnbench.executors.launch import Outcome
from snnbench.executors.local import LocalExecutor
from snnbench.experiment.config import load_config
from snnbench.experiment.grid import points
from snnbench.records.record import Record
from snnbench.records.store import ResultFolder
from snnbench.runner import planning
from snnbench.runner.outcome import verdict

from .command_line import Result, Snnbench
from .hostile import (
    HOSTILE_VALUES,
    changed_json,
    changed_text,
    changed_tree,
    nested,
    places,
    with_value,
)
from .paths import FAULTY
from .synthetic import record

DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 130}
MOST_CPU_S, MOST_KIB = 10.0, 2**20
"""CPU seconds of one example in this process, and the most memory of all examples."""
EVERY, REAL = 10_000, 200
CONFIG = {
    "name": "fuzzed",
    "adapters": [f"{FAULTY / 'held.py'}:Held"],
    "grid": {
        "framework": ["held"],
        "neurons": [41, 97],
        "time_steps": [37],
        "batch": [3],
        "device": ["cpu"],
        "neuron": ["soft"],
    },
    "measure": {
        "blocks": 2,
        "passes": 3,
        "slot": "5ms",
        "timeout": "60s",
        "threads": 1,
        "host_memory": "4GiB",
    },
}


EMPTY: tuple[object, ...] = ({}, [], None, "", [[[]]], nested(150), nested(300))
"""Values that parts of documents are emptied with; nesting below and above the limit."""


class Arena:
    """A folder with an output folder in it, and around that what must stay as it is."""

    def __init__(self, folder: Path):
        self.command = Snnbench(folder)
        self.folder, self.base, self.out = folder, folder / "base", folder / "out"
        caches = os.environ.get("SNNBENCH_CACHE") or user_cache_path(
            "snnbench"
        )  # the page's scripts take two seconds to bundle
        own = {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "SNNBENCH_CACHE": str(caches),
        }
        self.command.environment |= own
        for name in ("home", "tmp", "victim/records", "victim/scratch", "compiled"):
            (folder / name).mkdir(parents=True)
        for name in (
            "home/thesis.txt",
            "victim/settings",
            "victim/records/a.tmp",
            "victim/scratch/b.partial.npz",
            "compiled/c",
        ):
            (folder / name).write_text(f"{name} is somebody's")
        for number in range(4):
            one = record(("torch", "jax")[number % 2], block=number // 2, neurons=97)
            ResultFolder(self.base).write_record(one.model_copy(update={"set": "base"}))
        self.kept = [f"{path.name}" for path in (self.base / "records").iterdir()]

    def clear(self) -> None:
        for path in (self.out, self.folder / "tmp"):
            shutil.rmtree(path, ignore_errors=True)
        (self.folder / "tmp").mkdir()

    def seen(self) -> dict[str, bytes]:
        """Everything but the output folder, and what reports write into the folder that they are
        of."""
        own = (self.out, self.folder / "tmp", self.base / "results.csv", self.base / "report.html")
        files = (
            path
            for path in self.folder.rglob("*")
            if not any(path == one or one in path.parents for one in own)
        )
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else b""
            for path in files
        }

    @contextmanager
    def untouched(self):
        before = self.seen()
        yield
        after = self.seen()
        assert before == after, (
            f"changed: {sorted(name for name in before.keys() | after if before.get(name) != after.get(name))}"
        )

    def tried(self, *arguments: object) -> Result:
        """The command, in this process, which must end as it says that it may."""
        with self.untouched():
            ended = self.command(*arguments)
        return checked(ended, arguments)


def checked(ended: Result, arguments: object) -> Result:
    assert ended.exit_code in DOCUMENTED | {None}, (
        f"{arguments!r}: exit code {ended.exit_code}: {ended.stderr[-2000:]}"
    )
    assert "Traceback" not in ended.stderr, ended.stderr[-4000:]
    assert len(ended.stderr) <= 20_000, f"{arguments!r}: {len(ended.stderr)} letters on stderr"
    return ended


def config(arena: Arena, random: Random) -> None:
    """A changed config, planned."""
    path = arena.folder / "fuzzed.toml"
    text = _toml(CONFIG if random.random() < 0.3 else changed_tree(random, CONFIG, 1))
    path.write_bytes(changed_text(random, text) if random.random() < 0.4 else text)
    with patch.object(planning, "take_inventory", lambda *_: _inventory()):
        arena.tried(
            "plan",
            "--config",
            path,
            *(["--json"] if random.random() < 0.3 else []),
            "--out",
            arena.out,
        )


@cache
def _inventory():
    """What the adapters say of an unchanged config: asking them takes a process each time."""
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "config.toml").write_bytes(_toml(CONFIG))
        experiment = load_config(path, [])
    return take_inventory(
        experiment.adapters,
        Inquiry(
            frameworks=(VariantPattern("held"),), points=tuple(points(experiment, ["cpu", "cuda"]))
        ),
        LocalExecutor(),
    )


def _toml(values: object) -> bytes:
    """As far as TOML can say it; what it cannot say is left as it is, which is no TOML."""
    if not isinstance(values, dict):
        return json.dumps(values).encode()
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += [
                f"[{json.dumps(key)}]",
                *(f"{json.dumps(each)} = {json.dumps(one)}" for each, one in value.items()),
            ]
    return ("\n".join(lines) + "\n").encode()


def records(arena: Arena, random: Random) -> None:
    """Records of which some are changed: reported, merged or compared."""
    theirs = arena.out / "theirs"
    shutil.copytree(arena.base, theirs)
    changed = random.sample(arena.kept, random.randint(1, 2))
    for name in changed:
        path = theirs / "records" / name
        path.write_bytes(changed_json(random, json.loads(path.read_bytes())))
    if random.random() < 0.2:
        (
            theirs / random.choice(["planned.json", "experiment.json", "environment-e.json"])
        ).write_bytes(changed_json(random, CONFIG))
    before = {path.name: path.read_bytes() for path in (theirs / "records").iterdir()}
    verb = random.choice(["report", "csv", "csv", "merge", "compare", "compare"])
    if verb == "merge":
        arena.tried("merge", arena.base, theirs, "--out", arena.out / "merged")
        merged = {path.read_bytes() for path in (arena.out / "merged" / "records").iterdir()}
        lost = [name for name in arena.kept if name not in changed and before[name] not in merged]
        assert not lost, f"lost: {lost}"
        inside = {path.name for path in (arena.out).iterdir()}
        assert inside == {"theirs", "merged"}, inside
    elif verb == "compare":
        arena.tried(
            "compare",
            *random.sample([arena.base, theirs], 2),
            *random.choice([[], ["--format", "json"], ["--format", "junit"]]),
        )
    else:
        form = (
            []
            if verb == "report"
            else ["--format", random.choice(["csv", "json", "markdown", "coverage"])]
        )
        arena.tried("report", theirs, *form)
    assert before == {path.name: path.read_bytes() for path in (theirs / "records").iterdir()}, (
        "a record was written"
    )


def events(arena: Arena, random: Random) -> None:
    """What a worker or an adapter may have written: it becomes a record that can be read back."""
    made = record("torch", neurons=97)
    told = [
        {"part": name, **part.model_dump(exclude={"timing"})} for name, part in made.parts.items()
    ]
    told += [
        {"part": "facts", "facts": made.facts},
        {"part": "memory", "memory": made.memory, "memory_meaning": "x", "host_peak_bytes": 1},
    ]
    told.append({"part": "end", "status": "ok", "cpu_seconds": 1.0})
    at = random.randrange(len(told))
    lines = [json.dumps(one).encode() for one in told]
    lines[at] = changed_json(random, told[at])
    (path := arena.out / "events").parent.mkdir()
    path.write_bytes(b"\n".join(lines) + b"\n" * random.randint(0, 1))
    with arena.untouched():
        exit_code = random.choice([0, 0, 1, None])
        outcome = Outcome(
            exit_code=exit_code,
            events=read_events(path.read_bytes()),
            output_tail=random.choice(["", "MemoryError", "\ud800"]),
        )
        folded = verdict(outcome, "cpu")
        assert folded["status"] in STATUSES and (folded["status"] == "ok" or folded["reason"])
        values = {**made.model_dump(by_alias=True), "parts": {}, "proof": None, **folded}
        folder = ResultFolder(arena.out)
        folder.write_record(Record.model_validate(values))
        (back,), unreadable = ResultFolder(arena.out).read_records()
        assert (back.status, unreadable) == (folded["status"], [])


def emptied_records(arena: Arena, random: Random) -> None:
    """A record with one value emptied or nested, under every verb that reads folders."""
    theirs = arena.out / "theirs"
    shutil.copytree(arena.base, theirs)
    path = theirs / "records" / random.choice(arena.kept)
    document = json.loads(path.read_bytes())
    place, _ = random.choice([*places(document)])
    path.write_text(json.dumps(with_value(document, place, random.choice(EMPTY))))
    arena.tried(
        *random.choice(
            [
                ["report", theirs, "--format", "csv"],
                ["compare", arena.base, theirs],
                ["bundle", theirs, "--out", arena.out / "a.bundle.jsonl"],
            ]
        )
    )


def bundles(arena: Arena, random: Random) -> None:
    """A bundle with a changed line, a large shared value, or records that are repeated."""
    made = bundle_of(ResultFolder(arena.base), "fuzz")[0]
    lines = [json.loads(line) for line in text_of(made).splitlines()]
    at = random.randrange(len(lines))
    lines[at] = changed_tree(random, lines[at], 1)
    if random.random() < 0.3 and isinstance(lines[2], dict):
        lines[2]["shared"] = {"adapter": {"x": {str(number): "1" for number in range(9999)}}}
    lines += [lines[-1]] * random.choice([0, 0, 97])
    arena.out.mkdir(exist_ok=True)
    (path := arena.out / "a.bundle.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    arena.tried(*random.choice([["verify", path], ["report", path, "--format", "csv"]]))


def badges(arena: Arena, random: Random) -> None:
    """The output of `check --json`, changed."""
    case = {"neuron": {"reset": "soft", "decay": 0.5}, "precision": "fp32"}
    arena.out.mkdir(exist_ok=True)
    (path := arena.out / "checked.json").write_bytes(
        changed_json(random, [{"case": case, "status": "ok"}])
    )
    arena.tried("badge", path, "--out", arena.out / "badge.json")


def neurons_of_settings(arena: Arena, random: Random) -> None:
    """A config with `--set` of an odd neuron."""
    (path := arena.folder / "fuzzed.toml").write_bytes(_toml(CONFIG))
    key = random.choice(["reset", "decay", "detach_reset", "surrogate", "max_spikes", "x"])
    value = json.dumps(random.choice([*HOSTILE_VALUES[:-1], *EMPTY]))
    setting = f"grid.neuron={{{key} = {value}}}"
    with patch.object(planning, "take_inventory", lambda *_: _inventory()):
        arena.tried("plan", "--config", path, "--set", setting, "--out", arena.out)


VERBS = (
    "run",
    "plan",
    "check",
    "adapters",
    "doctor",
    "report",
    "merge",
    "compare",
    "init",
    "env",
    "env create",
    "env list",
)
OPTIONS = (
    *(
        "--config",
        "--out",
        "--set",
        "--only",
        "--shard",
        "--adapter",
        "--json",
        "--format",
        "--pair",
        "--factor",
        "--relative",
    ),
    *(
        "--strict",
        "--baseline",
        "--write",
        "--help",
        "--version",
        "--",
        "-x",
    ),
)


def words(arena: Arena, random: Random) -> list[str]:
    """A command line that measures and installs nothing."""
    values = [
        "nowhere",
        "base",
        "base/records",
        "fuzzed.toml",
        "out",
        "victim",
        "1/1",
        "0/0",
        "9/3",
        "-1",
        "1e999",
    ]
    values += ["torch", "jax"]
    values += [
        "grid.neurons=[1]",
        "measure.blocks=0",
        "a=b=c",
        "framework=*",
        "csv",
        "json",
        "table",
    ]
    values += [
        text
        for text in HOSTILE_VALUES
        if isinstance(text, str) and "\x00" not in text and "\ud800" not in text
    ]
    verb = random.choice(VERBS)
    line = [
        *verb.split(),
        *(
            random.choice(OPTIONS if random.random() < 0.5 else values)
            for _ in range(random.randint(0, 5))
        ),
    ]
    if verb in ("run", "check", "env create", "adapters", "doctor"):
        line.append("--nonsense")  # else some of them would start workers, for minutes
    return line


def command_lines(arena: Arena, random: Random) -> None:
    (arena.folder / "fuzzed.toml").write_text("name = 1")
    own = arena.folder / "victim"  # may be named as an output folder, and is one then
    before = {path.name: path.read_bytes() for path in (arena.base / "records").iterdir()}
    line = words(arena, random)
    checked(arena.command(*line), line)
    assert own.joinpath("settings").exists() and own.joinpath("records", "a.tmp").exists(), line
    assert before == {
        path.name: path.read_bytes() for path in (arena.base / "records").iterdir()
    }, line


def real_command_lines(arena: Arena, random: Random) -> None:
    line = words(arena, random)
    checked(arena.command.installed(*line), line)


KINDS: dict[str, Callable[[Arena, Random], None]] = {
    "configs": config,
    "records": records,
    "emptied records": emptied_records,
    "bundles": bundles,
    "badges": badges,
    "neurons of settings": neurons_of_settings,
    "events": events,
    "command lines": command_lines,
    "real command lines": real_command_lines,
}


def peak_kib() -> int:
    """The most memory that this process has had, also before the example."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tried(kind: str, count: int, number: int) -> None:
    """So many examples of a kind; `number` seeds them."""
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder))

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(st.integers(0, 2**62))
        def check(example: int) -> None:
            arena.clear()
            began, before = time.process_time(), peak_kib()
            KINDS[kind](arena, Random(example))
            seconds = time.process_time() - began
            assert seconds < MOST_CPU_S, f"{seconds:.1f} s of CPU time"
            assert peak_kib() <= max(before, MOST_KIB), "too much memory"

        check()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--each", type=int, default=EVERY)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    for kind in KINDS:
        count = (min(REAL, options.each) if kind.startswith("real") else options.each) // parts
        print(f"{kind}: {count} of seed {options.seed}, part {part} of {parts}", flush=True)
        tried(kind, count, parts * options.seed + part)


if __name__ == "__main__":
    main()
