"""A bundle: the results of one folder as one text file for others, the same bytes from the same records everywhere.

Every line is a JSON object with its keys in order. The first says whose it is and has the hash of all else; the second
has the experiment and the plan; the third what many records have in common, by hashes; then come results as they are published,
and records, both in the order of their case ids.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..common.mistakes import ConfigError
from ..machine.facts import machine_kind
from ..records.bundle import FORMAT, SHARED, SUFFIX, StoredSet
from ..records.record import RECORD, Record
from ..records.rows import Row, machine_of, rows_of
from .scrub import harmless, leaks, scrubbed, scrubbed_experiment

LICENCE = "CC-BY-4.0"
MOST_BYTES, MOST_RECORDS = 5_000_000, 5000
"""Of a bundle. Longer runs are several: shards."""
DIGITS = 6
"""Of a published number: what one library computes differently from the next is less."""


@dataclass
class Bundle:
    """What a bundle file holds. `results` are the figures that it claims, `records` what they rest on."""

    header: dict[str, Any]
    experiment: dict[str, Any] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """The hash of the whole content, by which bundles are told apart."""
        return str(self.header["sha256"])

    @property
    def by(self) -> str:
        return str(self.header.get("by") or "")


def bundle_of(folder: StoredSet, by: str = "", note: str = "") -> tuple[Bundle, list[str]]:
    """Returns the public part of a result set, and a sentence for each file that cannot be read. Raises ConfigError if there
    are no records or too many, and for a private word in a name that cannot be changed."""
    folder.must_exist()
    records, unreadable = folder.read_records()
    if not records:
        raise ConfigError(f"{folder}: no records there")
    if len(records) > MOST_RECORDS:
        raise ConfigError(
            f"{folder}: has {len(records)} records, and a bundle at most {MOST_RECORDS}; bundle its shards"
        )
    if words := sorted({word for record in records for word in leaks(record)}):
        raise ConfigError(
            f"{folder}: the name of an adapter says whose machine this is ({', '.join(words)}); rename it"
        )
    planned, refused = folder.read_planned()
    experiment, refused_too = folder.read_experiment()
    told = scrubbed_experiment(experiment)
    public = sorted((RECORD.validate_python(scrubbed(record)) for record in records), key=_place)
    known = {
        "by": by,
        "note": harmless(note),
        "name": told.get("name") or public[0].set.rpartition("-")[0],
    }
    bundle = Bundle(
        known,
        told,
        {case: harmless(name) for case, name in planned.items()},
        results_of(rows_of(public)),
        public,
    )
    bundle.header = header_of(bundle)
    return bundle, [*unreadable, *refused, *refused_too]


def header_of(bundle: Bundle) -> dict[str, Any]:
    """The first line, which says in short what the other lines hold."""
    machines = {machine_of(record): record.machine for record in bundle.records}
    header = {
        "snnbench_bundle": FORMAT,
        "snnbench": __version__,
        "licence": LICENCE,
        **{name: bundle.header[name] for name in ("by", "note", "name")},
        "machines": sorted({machine_kind(machine) for machine in machines.values()}),
        "statuses": dict(sorted(Counter(record.status for record in bundle.records).items())),
        "records": len(bundle.records),
    }
    return {**header, "sha256": hash_of(header, "".join(_body(bundle)))}


def hash_of(header: Mapping[str, Any], body: str) -> str:
    """SHA-256 of all that a bundle says: its first line, without the hash itself, and the lines that follow."""
    first = line({name: value for name, value in header.items() if name != "sha256"})
    return hashlib.sha256((first + body).encode(errors="replace")).hexdigest()


def text_of(bundle: Bundle) -> str:
    """The file. Raises ConfigError if it is too large."""
    text = "".join([line(bundle.header), *_body(bundle)])
    if len(text) > MOST_BYTES:
        raise ConfigError(
            f"a bundle of {len(text) / 1e6:.1f} MB: {MOST_BYTES / 1e6:g} MB are allowed; bundle shards of the run"
        )
    return text


def line(value: dict[str, Any]) -> str:
    """One line of a bundle: there is one way to write a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def results_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The figures that a bundle claims, of each row with a time: seconds of a step with their interval, ranks, ratio, bytes."""
    return sorted(
        (_result(row) for row in rows if "step" in row.estimates), key=lambda result: line(result)
    )


def _result(row: Row) -> dict[str, Any]:
    step, standing = row.estimates["step"], row.standing
    numbers = {
        "step_s": step.seconds,
        "low_s": step.low,
        "high_s": step.high,
        "ratio": standing and standing.ratio,
    }
    ranks = {"rank_low": standing.best, "rank_high": standing.worst} if standing else {}
    known = {
        name: float(f"{value:.{DIGITS}g}") for name, value in numbers.items() if value is not None
    }
    return {
        "case_id": row.first.case_id,
        "variant": row.case.framework_variant,
        "set": row.first.set,
        **known,
        **ranks,
    }


def _body(bundle: Bundle) -> list[str]:
    shared: dict[str, dict[str, Any]] = {name: {} for name in SHARED}
    records = []
    for record in bundle.records:
        values = record_values(record)
        for name in SHARED:
            key = hashlib.sha256(line(values[name]).encode()).hexdigest()[:12]
            shared[name][key], values[name] = values[name], key
        records.append(line({"record": values}))
    first = {"experiment": bundle.experiment, "planned": bundle.planned}
    return [
        line(first),
        line({"shared": shared}),
        *(line({"result": result}) for result in bundle.results),
        *records,
    ]


def record_values(record: Record) -> dict[str, Any]:
    """A record as a bundle writes it."""
    return {
        "schema": record.schema_version,
        **record.model_dump(by_alias=True, exclude_defaults=True),
    }


def _place(record: Record) -> tuple[str, int, str]:
    return record.case_id, record.block, record.done_key


def bundle_files(paths: Sequence[Path]) -> list[Path]:
    """The files that `paths` name, of a folder all bundles below it. Raises ConfigError for a path that names none."""
    found: dict[Path, None] = {}
    for path in paths:
        own = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not own or not own[0].is_file():
            raise ConfigError(
                f"{path}: {'holds no *' + SUFFIX if path.is_dir() else 'there is no such file'}"
            )
        found |= dict.fromkeys(own)
    return list(found)
