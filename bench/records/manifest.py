"""Which planned cases a result folder has no record of."""

from collections.abc import Iterable, Mapping

from .record import Record


def without_record(names: Mapping[str, str], records: Iterable[Record]) -> list[str]:
    """The planned cases, in `names` by id, of which no round has a record, whatever its status and machine."""
    recorded = {record.case_id for record in records}
    return [name for case_id, name in names.items() if case_id not in recorded]


def missing_in_words(missing: list[str]) -> str:
    """A sentence for a terminal about the names of `without_record`."""
    shown = ", ".join(missing[:3])
    rest = f", and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"{len(missing)} planned case{'s have' if len(missing) > 1 else ' has'} no record yet: {shown}{rest}"
