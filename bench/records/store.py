"""A result folder: where everything lies in it, and how it is written and read."""

import gc
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..common.files import exclusive, naming, own_folder, write_atomically
from ..common.mistakes import ConfigError, shown
from ..common.texts import anonymous, clean
from ..schema import WRITTEN, CaseId, Environment, Text, read_as
from .record import RECORD, SCHEMA, Record, file_name

ENVIRONMENT = TypeAdapter(Environment)
PLANNED = TypeAdapter(dict[CaseId, Text])
ANYTHING = TypeAdapter[Any](Any)

MARK = "Results of snnbench: records/, problems/, plots/, results.*, report.html and *.json are its own, and may be replaced.\n"
EARLIER_MARK = MARK.replace("results.*", "results.csv")


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses garbage collection while many records are read that stay: it would double the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            gc.freeze()


class ResultFolder:
    """One folder of results. Its records are read once, when they are first asked for; what is written later counts as read.

    `records/`, `experiment.json`, `planned.json` and `environment-HASH.json` are what a run leaves. `results.csv` and
    `report.html` are made from them, and deleting them loses nothing. `problems/` keeps the oracle's free runs. `.snnbench`
    marks the folder as ours: files of these names may be replaced. Others of the user may lie beside them.

        folder = ResultFolder(Path("results/quickstart"))
        records, unreadable = folder.read_records()
    """

    def __init__(self, path: Path):
        self.path, self.marker = path, path / ".snnbench"
        self.records, self.experiment, self.planned = (
            path / "records",
            path / "experiment.json",
            path / "planned.json",
        )
        self.running = path / "running.json"  # see running.py
        self.table, self.page, self.plots = (
            path / "results.csv",
            path / "report.html",
            path / "plots",
        )
        self.parquet = path / "results.parquet"
        self._finished: dict[Path, bytes] = {}
        self.problems = (
            path.resolve() / "problems"
        )  # workers are given it, whatever their current folder
        self.scratch: Path | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.path.resolve().name

    def record_path(self, case_id: str, block: int, done_key: str) -> Path:
        return self.records / file_name(case_id, block, done_key)

    def must_exist(self) -> None:
        """Raises ConfigError where no results can be read from."""
        if not self.path.is_dir():
            why = (
                "it is a file; name the result folder that it is in"
                if self.path.exists()
                else "there is no such folder"
            )
            raise ConfigError(f"{self}: {why}")

    def must_be_of(self, name: str) -> None:
        """Raises ConfigError where an experiment of another name was measured: its plan and its settings would be replaced."""
        values = self.read_experiment()[0]
        there = values.get("name") if isinstance(values, dict) else None
        if isinstance(there, str) and there != anonymous(name):
            raise ConfigError(
                f"{self}: holds the experiment {shown(there)}, not {shown(name)}; choose another --out"
            )

    def make(self) -> None:
        """Make the folder if it is not there, and mark it. Raises ConfigError where nothing could be written, and where files
        that would be replaced are not ours."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise ConfigError(f"{self}: cannot be a result folder: it is a file")
            for part in self.path.parts:
                Path(
                    part
                ).exists()  # raises OSError for a name that is too long, before folders above it are made
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self}: cannot be a result folder: {error.strerror}") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise ConfigError(f"{self}: cannot be written to; choose another --out")
        if self._is_ours():
            return
        ours = (
            self.records,
            self.experiment,
            self.planned,
            self.table,
            self.page,
            self.plots,
            self.problems,
            self.marker,
            self.parquet,
        )
        if theirs := [path.name for path in (*ours, *self.environments) if os.path.lexists(path)]:
            raise ConfigError(
                f"{self}: has {', '.join(theirs)}, which snnbench did not write; choose another --out"
            )
        with self.writing():
            self.write(self.marker, MARK)

    @property
    def environments(self) -> list[Path]:
        """The files that say what each environment held."""
        return sorted(self.path.glob("environment-*.json"))

    def _is_ours(self) -> bool:
        """Whether it is marked, or holds a record: of sets made elsewhere the marker may not have come along."""
        if self.marker.is_file() and self.marker.read_bytes() in (
            MARK.encode(),
            EARLIER_MARK.encode(),
        ):
            return True
        return any(isinstance(_content(path), Record) for path in self.records.glob("[!.]*.json"))

    def locked(
        self, refusal: ConfigError | None = None, wait: float = 0
    ) -> AbstractContextManager[None]:
        """One run per folder: two would measure each other. Entering raises ConfigError if there is one for `wait` seconds."""
        busy = ConfigError(
            f"{self}: another run is writing there; wait for it or choose another --out"
        )
        return exclusive(self.path / "run.lock", refusal or busy, wait)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Have a folder of this command's own below this one, `scratch`, during the block. Whatever is written here is written
        there first, so that a kill leaves nothing unfinished elsewhere."""
        with own_folder(self.path) as self.scratch:
            yield self.scratch
        self.scratch = None

    def write(self, path: Path, content: str | bytes) -> None:
        """Write a file below this folder, whole or not at all."""
        write_atomically(path, content, self.scratch)

    def take(self, other: "ResultFolder") -> None:
        """Move what was written into `other`, a folder on the same disk, to here. Records come last, and all at once: those that
        are here go into `other`."""
        for path in (*other.environments, other.planned, other.experiment):
            if path.exists():
                path.replace(self.path / path.name)
        if self.records.exists():
            self.records.replace(other.path / "replaced")
        other.records.replace(self.records)
        self._contents = {
            self.records / path.name: content for path, content in other._contents.items()
        }

    def read_records(self) -> tuple[list[Record], list[str]]:
        """All records, by name of their files, and one sentence for each file that is refused."""
        contents = [self._contents[path] for path in sorted(self._contents, key=str)]
        return [one for one in contents if isinstance(one, Record)], [
            one for one in contents if isinstance(one, str)
        ]

    def text_of(self, record: Record) -> bytes:
        """Returns the content of a record's file."""
        return (self.records / record.file_name).read_bytes()

    def copy_records(self, records: Iterable[tuple[Record, bytes]]) -> None:
        """Writes records of other sets with the contents of their files into this folder, which has no records yet."""
        self.records.mkdir()
        self._contents = {}
        for record, content in records:
            path = self.records / record.file_name
            with naming(path):
                path.write_bytes(content)
            self._contents[path] = record
        os.sync()

    def record(self, case_id: str, block: int, done_key: str) -> Record | None:
        """One record, if it is there and can be read."""
        content = self._contents.get(self.record_path(case_id, block, done_key))
        return content if isinstance(content, Record) else None

    def write_record(self, record: Record) -> Path:
        """Writes a record and returns its file."""
        path = self.record_path(record.case_id, record.block, record.done_key)
        written = RECORD.validate_python(record.model_dump(by_alias=True), context=WRITTEN)
        self._finished[path] = record_text(written)
        self.write(path, self._finished[path])
        self._contents[path] = _content(path)
        return path

    def remember(self) -> None:
        """Keep what the folder holds now. Call before a run starts workers, which could write to it."""
        own = [
            path
            for path in (self.marker, self.experiment, self.planned, *self.environments)
            if path.is_file()
        ]
        records = [path for path, one in self._contents.items() if isinstance(one, Record)]
        self._finished = {path: path.read_bytes() for path in (*own, *records)}

    def restore(self) -> Iterator[str]:
        """Write again what somebody changed since it was remembered or written, and say so in a sentence for each file; in one
        for all of them if the folder itself was removed, which the missing marker shows."""
        known = self._finished.items()
        changed = {
            path: content
            for path, content in known
            if not path.is_file() or path.read_bytes() != content
        }
        removed = self.marker in changed and not self.marker.exists()
        for path, content in changed.items():
            self.write(path, content)
            if not removed:
                yield f"{path} was changed during the run by somebody else: it is written again as it was"
        if removed:
            yield f"{self} was removed during the run by somebody else: {len(changed)} files are written again as they were"

    def only_set(self) -> str | None:
        """The set that all records are of; None if there are none, or records of several."""
        sets = {record.set for record in self.read_records()[0]}
        return sets.pop() if len(sets) == 1 else None

    def set_aside(self, case_id: str, block: int, done_key: str) -> str | None:
        """If a record is there that cannot be read: keep its file beside the one that replaces it, and say so."""
        path = self.record_path(case_id, block, done_key)
        if not isinstance(self._contents.get(path), str):
            return None
        del self._contents[path]
        self._finished.pop(path, None)
        aside = path.with_suffix(".damaged")
        path.rename(aside)
        return f"{path} cannot be read: kept as {aside.name}, and measured again"

    @cached_property
    def _contents(self) -> dict[Path, Record | str]:
        """The record in each file, or a sentence on why it could not be read."""
        with uncollected():
            return {path: _content(path) for path in self.records.glob("[!.]*.json")}

    def write_environment(self, facts: Mapping[str, Any]) -> None:
        """What an environment holds; its `hash` names the file."""
        self.write(
            self.path / f"environment-{facts['hash']}.json",
            json.dumps(anonymous(dict(facts)), indent=1) + "\n",
        )

    def write_planned(self, names: Mapping[str, str], of_more: bool = False) -> None:
        """Names of the planned cases by their ids, those of other shards included, so that none goes missing unseen. `of_more`:
        they are a part of a plan, and what the folder knows of the plan stays."""
        earlier = self.read_planned()[0] if of_more else {}
        self.write(self.planned, json.dumps(anonymous({**earlier, **names}), indent=1) + "\n")

    def write_experiment(self, values: Mapping[str, Any]) -> None:
        """What is measured here, as JSON has it."""
        self.write(self.experiment, json.dumps(anonymous(dict(values)), indent=1) + "\n")

    def read_planned(self) -> tuple[dict[str, str], list[str]]:
        """Names by case id, none where no run has left any, and a sentence if the file is refused."""
        names, refused = self._read(PLANNED, self.planned)
        return names or {}, refused

    def read_experiment(self) -> tuple[Any, list[str]]:
        """What experiment.json holds, of whatever version of snnbench, None if there is none, and a sentence if it is no JSON."""
        return self._read(ANYTHING, self.experiment)

    def read_environments(self) -> tuple[dict[str, Environment], list[str]]:
        """What the environments held, by their hashes, and a sentence for each file that is refused."""
        known, refused = dict[str, Environment](), list[str]()
        for path in self.environments:
            facts, why = self._read(ENVIRONMENT, path)
            if facts and path.name != f"environment-{facts['hash']}.json":
                why = [
                    str(
                        clean(
                            f"{path} cannot be read: it holds what belongs into environment-{facts['hash']}.json"
                        )
                    )
                ]
            elif facts:
                known[facts["hash"]] = facts
            refused += why
        return known, refused

    def _read(self, kind: TypeAdapter[Any], path: Path) -> tuple[Any, list[str]]:
        """What a file holds, None where it is missing or refused; if it is refused, a sentence."""
        try:
            return (read_as(kind, path), []) if path.exists() else (None, [])
        except (ValueError, OSError) as error:
            return None, [str(clean(f"{path} cannot be read: {error}"))]


def record_text(record: Record) -> bytes:
    """Returns the content of a record's file: one line per field, so that samples do not fill pages."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in record.model_dump(by_alias=True).items()
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _content(path: Path) -> Record | str:
    """A record, or a sentence; of a file that has many faults it names the first, and where it is."""
    try:
        record = read_as(RECORD, path)
        if path.name != record.file_name:
            raise ValueError(f"it holds what belongs into {record.file_name}")
        return record
    except (OSError, ValueError) as error:
        return str(clean(f"{path} is not a record of schema {SCHEMA}: {error}"))
