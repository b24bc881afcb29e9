"""Bundles: the results of one folder as a text file with the same bytes from the same records.

Every line is a JSON object with sorted keys. The first names the submitter and has the hash of the
rest; the second has the experiment and the plan; the third has values that records share, by
hashes; results and records follow, in the order of their case ids.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common import __version__
from ..common.mistakes import ConfigError
from ..machine.facts import machine_kind
from ..records.bundle import FORMAT, MOST_SHARED_BYTES, SHARED, SUFFIX, StoredSet, too_large
from ..records.record import RECORD, Record
from ..records.rows import Row, machine_of, rows_of
from .scrub import harmless, leaks, scrubbed, scrubbed_experiment

LICENCE = "CC-BY-4.0"
MOST_BYTES, MOST_RECORDS = 5_000_000, 5000
"""Limits of a bundle. Longer runs are bundled in shards."""
DIGITS = 6
"""Digits of a published number; libraries differ in less."""


@dataclass
class Bundle:
    """The content of a bundle file: `results` are claims, `records` their evidence."""

    header: dict[str, Any]
    experiment: dict[str, Any] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """The hash of the whole content, which identifies the bundle."""
        return str(self.header["sha256"])

    @property
    def by(self) -> str:
        return str(self.header.get("by") or "")


def bundle_of(folder: StoredSet, by: str = "", note: str = "") -> tuple[Bundle, list[str]]:
    """Returns the public part of a result set, and a sentence for each file that cannot be read.
    Raises ConfigError if there are no records or too many, and for a private word in a name that
    cannot be changed."""
    folder.must_exist()
    records, unreadable = folder.read_records()
    if not records:
        raise ConfigError(f"{folder}: no records there")
    if len(records) > MOST_RECORDS:
        raise ConfigError(
            f"{folder}: has {len(records)} records, and a bundle at most {MOST_RECORDS}; bundle "
            "its shards"
        )
    if words := sorted({word for record in records for word in leaks(record)}):
        raise ConfigError(
            f"{folder}: the name of an adapter names this machine or its user "
            f"({', '.join(words)}); rename it"
        )
    planned, refused = folder.read_planned()
    experiment, refused_too = folder.read_experiment()
    public_experiment = scrubbed_experiment(experiment)
    public_records = sorted(
        (RECORD.validate_python(scrubbed(record)) for record in records), key=_place
    )
    known = {
        "by": by,
        "note": harmless(note),
        "name": public_experiment.get("name") or public_records[0].set.rpartition("-")[0],
    }
    bundle = Bundle(
        known,
        public_experiment,
        {case: harmless(name) for case, name in planned.items()},
        results_of(rows_of(public_records)),
        public_records,
    )
    bundle.header = header_of(bundle)
    return bundle, [*unreadable, *refused, *refused_too]


def header_of(bundle: Bundle) -> dict[str, Any]:
    """Returns the first line, a summary of the others."""
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
    """Returns the SHA-256 of the first line without the hash itself and of the lines below it."""
    first = line({name: value for name, value in header.items() if name != "sha256"})
    return hashlib.sha256((first + body).encode(errors="replace")).hexdigest()


def text_of(bundle: Bundle) -> str:
    """Returns the text of the file. Raises ConfigError if it is too large."""
    text = "".join([line(bundle.header), *_body(bundle)])
    if len(text) > MOST_BYTES:
        raise ConfigError(
            f"a bundle of {len(text) / 1e6:.1f} MB: {MOST_BYTES / 1e6:g} MB are allowed; bundle "
            "shards of the run"
        )
    return text


def line(value: dict[str, Any]) -> str:
    """Returns one line of a bundle in the only permitted spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def results_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns the claims of rows with a time: seconds of the phase that ranks them, with interval,
    ratio and ranks."""
    return sorted(
        (_result(row) for row in rows if row.ranked in row.estimates),
        key=lambda result: line(result),
    )


def _result(row: Row) -> dict[str, Any]:
    time, standing = row.estimates[row.ranked], row.standing
    numbers = {
        f"{row.ranked}_s": time.seconds,
        "low_s": time.low,
        "high_s": time.high,
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
    records, size = [], 0
    for record in bundle.records:
        values = record_values(record)
        for name in SHARED:
            written = line(values[name])
            size += len(written)
            key = hashlib.sha256(written.encode()).hexdigest()[:12]
            shared[name][key], values[name] = values[name], key
        records.append(line({"record": values}))
    if size > MOST_SHARED_BYTES:
        raise ConfigError(f"a bundle: {too_large()}")
    first = {"experiment": bundle.experiment, "planned": bundle.planned}
    return [
        line(first),
        line({"shared": shared}),
        *(line({"result": result}) for result in bundle.results),
        *records,
    ]


def record_values(record: Record) -> dict[str, Any]:
    """Returns a record as a bundle writes it."""
    return {
        "schema": record.schema_version,
        **record.model_dump(by_alias=True, exclude_defaults=True),
    }


def _place(record: Record) -> tuple[str, int, str]:
    return record.case_id, record.block, record.done_key


def bundle_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the named files, and all bundles below named folders. Raises ConfigError for a path
    without any."""
    files: dict[Path, None] = {}
    for path in paths:
        bundles = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not bundles or not bundles[0].is_file():
            raise ConfigError(
                f"{path}: {'holds no *' + SUFFIX if path.is_dir() else 'there is no such file'}"
            )
        files |= dict.fromkeys(bundles)
    return list(files)
