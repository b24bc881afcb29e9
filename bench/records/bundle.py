"""Reads a bundle, the records of a result set in one text file, as a result folder is read.

Every line is a JSON object. The first has the hash of all others; the second the experiment and the
plan; the third the values that records share, by their hashes; then come claimed results and
records. `community/bundle.py` writes bundles, and `community/verify` checks them.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ..common.mistakes import ConfigError, in_words, shown
from ..common.texts import clean
from ..schema import LARGEST_FILE, CaseId, RecordedEnvironment, Text, parsed, understood
from .record import RECORD, Record
from .store import ResultFolder, must_be_among, name_of, record_text, uncollected

FORMAT = 1
SUFFIX = ".bundle.jsonl"
SHARED = ("adapter", "environment", "machine", "measure")
"""Fields of a record that are written once for all records with the same value."""
MOST_SHARED_BYTES = 20_000_000
"""Most bytes of shared values, counted once for each record that has them: without a limit a small
file fills the memory. 5,000 records may share 4 kB each."""
MOST_NAMED = 20
"""Most lines that are refused with a sentence each."""
LONGEST_HEADER = 1 << 20
"""Bytes of a first line."""


class BundlePlan(TypedDict):
    """The second line of a bundle."""

    experiment: dict[str, Any]
    planned: dict[CaseId, Text]


PLAN = TypeAdapter(BundlePlan)


class BundleFile:
    """A bundle that is read as a result folder. It is read once, at the first question.

    records, unreadable = BundleFile(Path("results/quickstart.bundle.jsonl")).read_records()
    """

    def __init__(self, path: Path):
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.path.name.removesuffix(SUFFIX)

    def must_exist(self) -> None:
        """Raises ConfigError if there is no such file."""
        if not self.path.is_file():
            raise ConfigError(f"{self}: there is no such file")

    def must_be_of(self, *names: str) -> None:
        """Raises ConfigError if there is a file that is no bundle, or one of an experiment of
        another name."""
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as stream:
                header = _header(stream.readline(LONGEST_HEADER))
        except ValueError:
            fault = "is no bundle of snnbench, and is not replaced"
            raise ConfigError(f"{self}: {fault}; choose another --out") from None
        must_be_among(name_of(header), names, self)

    def read_records(self) -> tuple[list[Record], list[str]]:
        """Returns the records, and a sentence for each of the first MOST_NAMED lines that are
        refused, with one on the number of the others."""
        return self._contents.records, self._contents.unreadable

    def text_of(self, record: Record) -> bytes:
        """Returns the record as a result folder stores it."""
        return record_text(record)

    def read_planned(self) -> tuple[dict[str, str], list[str]]:
        """Returns the names of the planned cases by their ids. Refused lines are named by
        `read_records`."""
        return self._contents.planned, []

    def read_experiment(self) -> tuple[Any, list[str]]:
        """Returns the experiment, None if the bundle has none. Refused lines are named by
        `read_records`."""
        return self._contents.experiment or None, []

    def read_environments(self) -> tuple[dict[str, RecordedEnvironment], list[str]]:
        """Returns the environments by their hashes, each with the packages on which its
        frameworks rest."""
        known: dict[str, RecordedEnvironment] = {}
        for record in self._contents.records:
            facts = known.setdefault(
                record.environment["hash"], RecordedEnvironment(**record.environment, packages={})
            )
            facts["packages"] |= record.adapter.get("closure", {})
        return known, []

    @cached_property
    def _contents(self) -> "_Contents":
        contents = _Contents(self.path)
        try:
            if self.path.stat().st_size > LARGEST_FILE:
                raise ValueError(f"it is larger than {LARGEST_FILE >> 20} MiB")
            first, _, body = self.path.read_bytes().partition(b"\n")
            header = _header(first)
        except (OSError, ValueError) as error:
            contents.refuse(f"{self.path} cannot be read: {in_words(error)}")
            return contents
        refused = 0
        with uncollected():
            for number, line in enumerate(body.splitlines(), start=2):
                try:
                    contents.take(parsed(line))
                except ValueError as error:
                    refused += 1
                    if refused <= MOST_NAMED:
                        contents.refuse(f"{self.path}, line {number}, cannot be read: {error}")
                    if isinstance(error, TooLarge):
                        break
        if (more := refused - MOST_NAMED) > 0:
            lines = "line" if more == 1 else "lines"
            contents.refuse(f"{self.path}: {more} more {lines} cannot be read")
        stated, count = header.get("records"), len(contents.records)
        if not contents.unreadable and stated != count:
            contents.refuse(f"{self.path}: line 1 says {shown(stated)} records, and {count} follow")
        contents.records.sort(key=lambda record: record.file_name)
        return contents


def _header(first: bytes) -> dict[str, Any]:
    """Returns the first line of a bundle. Raises ValueError for another line."""
    header = parsed(first)
    if not isinstance(header, dict) or header.get("snnbench_bundle") != FORMAT:
        raise ValueError(f"it is no bundle of format {FORMAT}")
    return header


class _Contents:
    """The lines of a bundle that could be read, and a sentence for each of the others."""

    def __init__(self, path: Path) -> None:
        self.experiment: dict[str, Any] = {}
        self.planned: dict[str, str] = {}
        self.shared = SharedValues()
        self.records: list[Record] = []
        self.unreadable: list[str] = []

    def refuse(self, sentence: str) -> None:
        self.unreadable.append(str(clean(sentence)))

    def take(self, value: Any) -> None:
        """Adds what a line holds. Raises ValueError if that is refused."""
        match value:
            case {"experiment": _, "planned": _}:
                plan = understood(PLAN, value)
                self.experiment, self.planned = plan["experiment"], plan["planned"]
            case {"shared": dict(shared)}:
                self.shared.replace(shared)
            case {"record": dict(record)}:
                self.records.append(understood(RECORD, self.shared.whole(record)))
            case {"result": _}:
                pass  # is computed from the records
            case _:
                raise ValueError("it holds no plan, nothing shared, no result and no record")


class TooLarge(ValueError):
    """Raised if records repeat more than MOST_SHARED_BYTES of shared values."""


class SharedValues:
    """The values that records share, by their fields and hashes.

    It counts their bytes in every record, because work on the records grows with these and not with
    the bytes of the file.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._sizes: dict[tuple[str, str], int] = {}
        self._bytes = 0

    def replace(self, values: dict[str, Any]) -> None:
        """Takes the values of a line in place of earlier ones."""
        self.values, self._sizes = values, {}

    def whole(self, record: dict[str, Any]) -> dict[str, Any]:
        """Returns the values of a record with shared ones in place of their hashes.

        Raises ValueError if one is missing, and TooLarge.
        """
        values = dict(record)
        for name in SHARED:
            key, known = values.get(name), self.values.get(name)
            known = known if isinstance(known, dict) else {}
            if not isinstance(key, str) or not isinstance(known.get(key), dict):
                raise ValueError(
                    f"{name} = {shown(key)}: the line of shared values has no such entry"
                )
            values[name] = known[key]
            if (name, key) not in self._sizes:
                self._sizes[name, key] = len(json.dumps(known[key]))
            self._bytes += self._sizes[name, key]
        if self._bytes > MOST_SHARED_BYTES:
            raise TooLarge(too_large())
        return values


def too_large() -> str:
    """Returns a sentence about records of more than MOST_SHARED_BYTES."""
    limit = f"{MOST_SHARED_BYTES / 1e6:g} MB"
    return f"its records repeat more than {limit} of shared values; bundle shards of the run"


def stored_set(path: Path) -> "StoredSet":
    """Returns the result set at a path: a bundle if a file's name ends like one, else a folder."""
    return (
        BundleFile(path) if path.name.endswith(SUFFIX) and not path.is_dir() else ResultFolder(path)
    )


StoredSet = ResultFolder | BundleFile
