"""A result folder: the place of each of its files, and how they are written and read."""

import gc
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..common.files import exclusive, naming, own_folder, write_atomically
from ..common.mistakes import ConfigError, in_words, shown
from ..common.texts import anonymous, clean
from ..schema import WRITTEN, CaseId, RecordedEnvironment, Text, read_as
from .record import RECORD, SCHEMA, Record, file_name

ENVIRONMENT = TypeAdapter(RecordedEnvironment)
PLANNED = TypeAdapter(dict[CaseId, Text])
ANYTHING = TypeAdapter[Any](Any)

MARK = (
    "Results of snnbench: records/, problems/, plots/, results.*, report.html and *.json are "
    "its own, and may be replaced.\n"
)


@dataclass(frozen=True)
class SetPlan:
    """The files of a result folder beside its records, as JSON has them.

    `planned` names the planned cases by their ids, those of other shards included, so that a
    missing case is noticed. With `is_subset`, it adds to the names that the folder has. A file
    with None for its content is not written.
    """

    experiment: Mapping[str, Any] | None = None
    planned: Mapping[str, str] | None = None
    environments: Sequence[Mapping[str, Any]] = ()
    is_subset: bool = False


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
    """One folder of results. Its records are read once, at the first question, and kept up to date.

    A run leaves `records/`, `experiment.json`, `planned.json` and `environment-HASH.json`. From
    them `results.csv` and `report.html` are made, which can be deleted. `problems/` keeps the
    oracle's free runs. `.snnbench` marks the folder: files with these names may be replaced. Other
    files of the user stay as they are.

        folder = ResultFolder(Path("results/local/quickstart"))
        records, unreadable = folder.read_records()
    """

    def __init__(self, path: Path):
        self.path, self.marker = path, path / ".snnbench"
        self.records, self.plots = path / "records", path / "plots"
        self.experiment, self.planned = path / "experiment.json", path / "planned.json"
        self.running = path / "running.json"  # see running.py
        self.table, self.page = path / "results.csv", path / "report.html"
        self.parquet, self.latex = path / "results.parquet", path / "results.tex"
        self.problems = path.resolve() / "problems"  # a worker's current folder is another
        self.scratch: Path | None = None
        self._finished: dict[Path, bytes] = {}

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.path.resolve().name

    @property
    def environments(self) -> list[Path]:
        """The files of the environments, by name."""
        return sorted(self.path.glob("environment-*.json"))

    def record_path(self, case_id: str, block: int, done_key: str) -> Path:
        return self.records / file_name(case_id, block, done_key)

    def must_exist(self) -> None:
        """Raises ConfigError if there is no such folder."""
        if not self.path.is_dir():
            is_file = "it is a file; name the result folder that it is in"
            raise ConfigError(
                f"{self}: {is_file if self.path.exists() else 'there is no such folder'}"
            )

    def must_be_of(self, *names: str) -> None:
        """Raises ConfigError if the folder holds an experiment of another name."""
        must_be_among(name_of(self.read_experiment()[0]), names, self)

    def make(self) -> None:
        """Makes the folder, if it is missing, and marks it.

        Raises ConfigError if it cannot be written to, if it has files of other origin that would be
        replaced, and if it lies among the records of another result folder.
        """
        resolved = self.path.resolve()
        for each in (resolved, *resolved.parents):
            if each.name == self.records.name and (each.parent / self.marker.name).is_file():
                raise ConfigError(f"{self}: lies among records of a run; choose another --out")
        try:
            if self.path.exists() and not self.path.is_dir():
                raise ConfigError(f"{self}: cannot be a result folder: it is a file")
            for part in self.path.parts:
                with suppress(FileNotFoundError):
                    os.lstat(part)  # raises OSError for a name that is too long
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self}: cannot be a result folder: {error.strerror}") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise ConfigError(f"{self}: cannot be written to; choose another --out")
        if self._is_ours():
            return
        replaced = [self.records, self.experiment, self.planned, self.table, self.page, self.plots]
        replaced += [self.problems, self.marker, self.parquet, self.latex, *self.environments]
        if names := [path.name for path in replaced if os.path.lexists(path)]:
            foreign = f"{', '.join(names)}, which snnbench did not write"
            raise ConfigError(f"{self}: has {foreign}; choose another --out")
        with self.writing():
            self.write(self.marker, MARK)

    def _is_ours(self) -> bool:
        """Returns whether the folder is marked or holds a record; a copy may lack the marker."""
        if self.marker.is_file() and self.marker.read_bytes() == MARK.encode():
            return True
        return any(isinstance(_content(path), Record) for path in self.records.glob("[!.]*.json"))

    def locked(
        self, refusal: ConfigError | None = None, wait: float = 0
    ) -> AbstractContextManager[None]:
        """Locks the folder: two runs would measure each other. Entering raises `refusal` if another
        run holds the lock for `wait` seconds."""
        busy = ConfigError(
            f"{self}: another run is writing there; wait for it or choose another --out"
        )
        return exclusive(self.path / "run.lock", refusal or busy, wait)

    @contextmanager
    def begin(self, plan: SetPlan) -> Iterator[Path]:
        """Holds the folder for one run and yields a folder for temporary files.

        Makes and locks the folder, writes the plan, and remembers all contents, because workers
        could write there: see `restore`. Raises ConfigError if the folder holds another
        experiment, cannot be written to, or is in use.
        """
        if plan.experiment:
            self.must_be_of(plan.experiment["name"])
        self.make()
        with self.locked(), self.writing() as scratch:
            self.write_plan(plan)
            files = (self.marker, self.experiment, self.planned, *self.environments)
            records = [path for path, each in self._contents.items() if isinstance(each, Record)]
            self._finished = {
                path: path.read_bytes() for path in (*filter(Path.is_file, files), *records)
            }
            yield scratch

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yields `scratch`, a folder below this one. Files are written there first, so that a kill
        leaves nothing unfinished elsewhere."""
        with own_folder(self.path) as self.scratch:
            yield self.scratch
        self.scratch = None

    def write(self, path: Path, content: str | bytes) -> None:
        """Writes a file below this folder, whole or not at all."""
        write_atomically(path, content, self.scratch)

    def write_plan(self, plan: SetPlan) -> None:
        """Writes the files of a plan, without names of the user and the machine."""
        earlier = self.read_planned()[0] if plan.is_subset else {}
        documents: dict[Path, Mapping[str, Any] | None] = {
            self.experiment: plan.experiment,
            self.planned: plan.planned and {**earlier, **plan.planned},
        }
        documents |= {
            self.path / f"environment-{facts['hash']}.json": facts for facts in plan.environments
        }
        for path, values in documents.items():
            if values is not None:
                self.write(path, json.dumps(anonymous(dict(values)), indent=1) + "\n")

    def write_record(self, record: Record) -> Path:
        """Writes a record, without names of the user and the machine, and returns its file."""
        path = self.record_path(record.case_id, record.block, record.done_key)
        written = RECORD.validate_python(record.model_dump(by_alias=True), context=WRITTEN)
        self._finished[path] = record_text(written)
        self.write(path, self._finished[path])
        self._contents[path] = _content(path)
        return path

    def restore(self) -> Iterator[str]:
        """Writes remembered files again that were changed since, and yields a sentence for each.

        If the whole folder was removed, which the missing marker shows, it yields one sentence.
        """
        changed = {
            path: content
            for path, content in self._finished.items()
            if not path.is_file() or path.read_bytes() != content
        }
        removed = self.marker in changed and not self.marker.exists()
        for path, content in changed.items():
            self.write(path, content)
            if not removed:
                yield f"{path} was changed by another process during the run, and is restored"
        if removed:
            restored = f"{len(changed)} files are restored"
            yield f"{self} was removed by another process during the run: {restored}"

    def copy_records(self, records: Iterable[tuple[Record, bytes]]) -> None:
        """Writes records of other sets, with the contents of their files, into an empty folder."""
        self.records.mkdir()
        self._contents = {}
        for record, content in records:
            path = self.records / record.file_name
            with naming(path):
                path.write_bytes(content)
            self._contents[path] = record
        os.sync()

    def take(self, other: "ResultFolder") -> None:
        """Moves the contents of `other`, a folder on the same disk, into this one. Records come
        last and all at once; records of this folder go into `other`."""
        for path in (*other.environments, other.planned, other.experiment):
            if path.exists():
                path.replace(self.path / path.name)
        if self.records.exists():
            self.records.replace(other.path / "replaced")
        other.records.replace(self.records)
        self._contents = {
            self.records / path.name: content for path, content in other._contents.items()
        }

    def set_aside(self, case_id: str, block: int, done_key: str) -> str | None:
        """Renames the file of a record that cannot be read, and returns a sentence on it; None if
        there is no such file."""
        path = self.record_path(case_id, block, done_key)
        if not isinstance(self._contents.get(path), str):
            return None
        del self._contents[path]
        self._finished.pop(path, None)
        aside = path.with_suffix(".damaged")
        path.rename(aside)
        return f"{path} cannot be read: kept as {aside.name}, and measured again"

    def read_records(self) -> tuple[list[Record], list[str]]:
        """Returns all records in the order of their files, and a sentence for each refused file."""
        contents = [self._contents[path] for path in sorted(self._contents, key=str)]
        return (
            [each for each in contents if isinstance(each, Record)],
            [each for each in contents if isinstance(each, str)],
        )

    def record(self, case_id: str, block: int, done_key: str) -> Record | None:
        """Returns a record, None if it is missing or cannot be read."""
        content = self._contents.get(self.record_path(case_id, block, done_key))
        return content if isinstance(content, Record) else None

    def text_of(self, record: Record) -> bytes:
        """Returns the content of a record's file."""
        return (self.records / record.file_name).read_bytes()

    def only_set(self) -> str | None:
        """Returns the set of all records, None if there are no records or several sets."""
        sets = {record.set for record in self.read_records()[0]}
        return sets.pop() if len(sets) == 1 else None

    @cached_property
    def _contents(self) -> dict[Path, Record | str]:
        """The record in each file, or a sentence on why it cannot be read."""
        with uncollected():
            return {path: _content(path) for path in self.records.glob("[!.]*.json")}

    def read_planned(self) -> tuple[dict[str, str], list[str]]:
        """Returns the names of the planned cases by id, and a sentence if the file is refused."""
        names, refused = _read(PLANNED, self.planned)
        return names or {}, refused

    def read_experiment(self) -> tuple[Any, list[str]]:
        """Returns the content of experiment.json, of any version of snnbench, None if there is no
        such file, and a sentence if it is no JSON."""
        return _read(ANYTHING, self.experiment)

    def read_environments(self) -> tuple[dict[str, RecordedEnvironment], list[str]]:
        """Returns the environments by their hashes, and a sentence for each refused file."""
        known, refused = dict[str, RecordedEnvironment](), list[str]()
        for path in self.environments:
            facts, sentences = _read(ENVIRONMENT, path)
            if facts and path.name != f"environment-{facts['hash']}.json":
                reason = f"it holds what belongs into environment-{facts['hash']}.json"
                sentences = [str(clean(f"{path} cannot be read: {reason}"))]
            elif facts:
                known[facts["hash"]] = facts
            refused += sentences
        return known, refused


def name_of(experiment: Any) -> str | None:
    """Returns the name of an experiment as JSON has it, None if there is none."""
    name = experiment.get("name") if isinstance(experiment, dict) else None
    return name if isinstance(name, str) else None


def must_be_among(present: str | None, names: Iterable[str], place: object) -> None:
    """Raises ConfigError if the output `place` holds an experiment with none of these names."""
    if present is not None and present not in anonymous(known := [*names]):
        others = f", not {' or '.join(map(shown, known))}" if known else ""
        raise ConfigError(
            f"{place}: holds the experiment {shown(present)}{others}; choose another --out"
        )


def _read(kind: TypeAdapter[Any], path: Path) -> tuple[Any, list[str]]:
    """Returns the content of a file, None if it is missing or refused; a sentence if refused."""
    try:
        return (read_as(kind, path), []) if path.exists() else (None, [])
    except (ValueError, OSError) as error:
        return None, [str(clean(f"{path} cannot be read: {in_words(error)}"))]


def record_text(record: Record) -> bytes:
    """Returns the content of a record's file: one line per field, so that samples stay compact."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in record.model_dump(by_alias=True).items()
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _content(path: Path) -> Record | str:
    """Returns the record in a file, or a sentence on its first fault."""
    try:
        record = read_as(RECORD, path)
        if path.name != record.file_name:
            raise ValueError(f"it holds what belongs into {record.file_name}")
        return record
    except (OSError, ValueError) as error:
        return str(clean(f"{path} is not a record of schema {SCHEMA}: {in_words(error)}"))
