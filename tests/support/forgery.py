"""A bundle of a committed set for forgeries that keep counts, order and hashes right."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from snnbench.community.bundle import SHARED, hash_of, line, results_of
from snnbench.core.case import Case, full_name
from snnbench.records.record import RECORD
from snnbench.records.rows import rows_of

FORGERIES: dict[str, tuple[str, str, Callable[["Forged"], str | None]]] = {}
"""Kind of the fault, words of its sentence, and the change, by name; `forgeries.py` and
`forged_times.py` fill it."""


def forgery(kind: str, words: str):
    """Registers a function that changes a Forged and may return its text."""

    def register(change):
        FORGERIES[change.__name__] = (kind, words, change)
        return change

    return register


class Forged:
    """The lines of a bundle as values, with whole records; `text` writes it with correct counts and
    hashes."""

    def __init__(self, text: str):
        self.header, first, shared, *others = map(json.loads, text.splitlines())
        self.experiment, self.planned = first["experiment"], first["planned"]
        self.results = [value["result"] for value in others if "result" in value]
        self.records = [value["record"] for value in others if "record" in value]
        for record in self.records:
            for name in SHARED:
                record[name] = json.loads(json.dumps(shared["shared"][name][record[name]]))

    def timed(self, framework: str, block: int = 0, **case: Any) -> dict[str, Any]:
        """A record of a framework that has times."""
        for record in self.records:
            known = {**record["case"], "block": record["block"], "status": record["status"]}
            wanted = {"framework": framework, "block": block, "status": "ok", **case}
            if all(known.get(key) == value for key, value in wanted.items()):
                return record
        raise LookupError(framework)

    def refused(self) -> dict[str, Any]:
        """Returns a record of a case that its adapter refuses."""
        return next(record for record in self.records if record["status"] == "unsupported")

    def text(self, change: Callable[[list[str]], Any] = lambda lines: None) -> str:
        """Returns the file; `change` gets the lines below the first one before they are hashed."""
        shared: dict[str, dict[str, Any]] = {name: {} for name in SHARED}
        records = []
        for record in sorted(
            self.records, key=lambda one: (one["case_id"], one["block"], one["done_key"])
        ):
            values = dict(record)
            for name in SHARED:
                key = hashlib.sha256(line(values[name]).encode()).hexdigest()[:12]
                shared[name][key], values[name] = values[name], key
            records.append(line({"record": values}))
        results = sorted(line({"result": result}) for result in self.results)
        lines = [
            line({"experiment": self.experiment, "planned": self.planned}),
            line({"shared": shared}),
            *results,
            *records,
        ]
        change(lines)
        statuses = dict(sorted(Counter(record["status"] for record in self.records).items()))
        body = "".join(lines)
        header = {**self.header, "records": len(self.records), "statuses": statuses, **self.said}
        return line({**header, "sha256": hash_of(header, body)}) + body

    said: dict[str, Any] = {}
    """Values of the first line that stay wrong."""


def names_of(forged: Forged) -> dict[str, str]:
    """Returns the cases' names by ids, as a plan has them."""
    return {
        record["case_id"]: full_name(Case.from_dict(record["case"])) for record in forged.records
    }


def claim_anew(forged: Forged) -> None:
    """Computes the results of the forged records."""
    forged.results = results_of(
        rows_of([RECORD.validate_python(record) for record in forged.records])
    )


def slots(record: dict[str, Any], phase: str = "step") -> list[dict[str, Any]]:
    return record["parts"][phase]["timing"]["slots"]


def faster(record: dict[str, Any], factor: float, phase: str = "step") -> None:
    """Multiplies every number of a phase's slots, and keeps medians and quartiles consistent."""
    for slot in slots(record, phase):
        slot["samples"] = [round(sample * factor, 9) for sample in slot["samples"]]
        for name in ("wall", "low", "high", "enqueue", "device"):
            slot[name] = round(slot[name] * factor, 9)
        if slot["calls"] <= 8:
            quartiles = np.quantile(slot["samples"], [0.25, 0.5, 0.75])
            slot |= {
                name: round(float(value), 9)
                for name, value in zip(("low", "wall", "high"), quartiles, strict=True)
            }


def renamed(record: dict[str, Any], **changes: Any) -> None:
    """Makes the record one of another case, with that case's id."""
    record["case"] = {**record["case"], **changes}
    record["case_id"] = Case.from_dict(record["case"]).id


def written(folder: Path, text: str, name: str = "forged") -> Path:
    path = folder / f"{name}.bundle.jsonl"
    path.write_text(text)
    return path
