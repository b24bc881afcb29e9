"""`planned.json`: every case that a result folder is to hold, the other shards' included, so that none goes missing unseen."""

import json
from contextlib import suppress
from pathlib import Path

from ..files import write_atomically
from .record import Record

PLANNED = "planned.json"


def write_planned(folder: Path, names: dict[str, str], of_more: bool = False) -> None:
    """`names` of cases by their ids; `of_more`: they are a part of a plan, and what the folder knows of it stays."""
    if of_more:
        with suppress(ValueError):
            names = read_planned(folder) | names
    write_atomically(folder / PLANNED, json.dumps(names, indent=1) + "\n")


def read_planned(folder: Path) -> dict[str, str]:
    """Names by case id; none where no run has left any. Raises ValueError with a sentence for what is no such file."""
    path = folder / PLANNED
    if not path.exists():
        return {}
    try:
        names = json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError(f"{path} must hold the names of planned cases by their ids, in braces")
    return names


def without_record(names: dict[str, str], records: list[Record]) -> list[str]:
    """Names of planned cases that no round of has ended yet, however; on one machine is enough."""
    there = {record.case_id for record in records}
    return [name for case_id, name in names.items() if case_id not in there]


def in_short(missing: list[str]) -> str:
    """A sentence for a terminal."""
    shown = ", ".join(missing[:3])
    rest = f", and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"{len(missing)} planned case{'s have' if len(missing) > 1 else ' has'} no record yet: {shown}{rest}"
