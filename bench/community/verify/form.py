"""Reads the text of a bundle file; every line that is not in snnbench's spelling is named."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from ...common.mistakes import hexadecimal, shown
from ...machine.facts import machine_kind
from ...records.bundle import FORMAT, SHARED, SharedValues, TooLarge
from ...records.record import RECORD, Record
from ...records.rows import machine_of
from ...schema import CaseId, Count, Finite, Label, Seconds, Status, Text, parsed, understood
from ..bundle import LICENCE, MOST_BYTES, MOST_RECORDS, Bundle, hash_of, line, record_values
from ..scrub import EXPERIMENT, placeless, scrubbed
from .fault import MACHINES, Fault, cause_of

Short = Annotated[str, Field(strict=True, max_length=200)]


class Header(TypedDict):
    """The first line."""

    snnbench_bundle: Literal[1]
    snnbench: Label
    licence: Literal["CC-BY-4.0"]
    by: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9-]{0,39}$")]
    note: Short
    name: Short
    machines: list[Annotated[str, Field(pattern=hexadecimal(12))]]
    statuses: dict[Status, Count]
    records: Count
    sha256: Annotated[str, Field(pattern=hexadecimal(64))]


class Claimed(TypedDict, total=False):
    """A line of results; of the phases it has the one that ranks the case."""

    case_id: CaseId
    variant: Text
    set: Text
    forward_s: Seconds
    backward_s: Seconds
    optimizer_s: Seconds
    step_s: Seconds
    inference_s: Seconds
    low_s: Seconds
    high_s: Seconds
    ratio: Finite
    rank_low: Count
    rank_high: Count


HEADER, CLAIMED = TypeAdapter[Any](Header), TypeAdapter[Any](Claimed)
PLAN = TypeAdapter(dict[CaseId, Text])
FIRST_WORDS = {
    "case_id": "case id",
    "status": "status",
    "proof.passed:": "verdict",
    "proof.passed": "verdict",
}
"""Kinds of faults by the first word of a refused record's sentence."""


class NoBundle(Exception):
    """The file cannot be read as a bundle."""


def read_bundle(text: str) -> tuple[Bundle, list[Fault]]:
    """Returns the bundle in `text` and the faults of its form, without unreadable records. Raises
    NoBundle."""
    header_line, _, body = text.partition("\n")
    try:
        header: dict[str, Any] = understood(HEADER, parsed(header_line.encode()))
    except ValueError as error:
        fault = f"is not that of a bundle of format {FORMAT}: {error}"
        raise NoBundle(f"its first line {fault}") from None
    bundle, faults = Bundle(header), list[Fault]()

    def add(kind: str, text: str, where: str = "") -> None:
        faults.append(Fault(kind, where, text))

    if len(text) > MOST_BYTES:
        size = f"{len(text) / 1e6:.1f} MB"
        add("size", f"{size}, and at most {MOST_BYTES / 1e6:g} MB are allowed")
    if hash_of(header, body) != header["sha256"]:
        hashes = "the hash of its lines is not the one in the first line"
        add("content", f"it is not what was bundled: {hashes}")
    shared = SharedValues()
    for number, written in enumerate(body.splitlines(), start=2):
        try:
            faults += _take(bundle, shared, number, written)
        except TooLarge as error:
            add("size", str(error), f"line {number}")
            break
        except ValueError as error:
            add("form", str(error), f"line {number}")
    if len(bundle.records) > MOST_RECORDS:
        add("size", f"{len(bundle.records)} records, and at most {MOST_RECORDS} are allowed")
    if line(header) != header_line + "\n" or (body and not body.endswith("\n")):
        add("form", "is not spelled as snnbench spells it", "line 1")
    return bundle, [*faults, *_counts(bundle), *_order(bundle.records)]


def _take(bundle: Bundle, shared: SharedValues, number: int, written: str) -> Iterator[Fault]:
    """Puts the content of a line into `bundle`. Raises ValueError for a line without a meaning."""
    value, where = parsed(written.encode()), f"line {number}"
    if not isinstance(value, dict):
        raise ValueError("is no object, in braces")
    try:
        spelled = line(value)
    except ValueError:
        raise ValueError("it has a number beyond 1.8e308, the largest one") from None
    if spelled != written + "\n":
        right = "keys in order, once each, and no spaces"
        yield Fault("form", where, f"is not spelled as snnbench spells it: {right}")
    if value.keys() == {"experiment", "planned"}:
        bundle.experiment, bundle.planned = value["experiment"], understood(PLAN, value["planned"])
        if not isinstance(bundle.experiment, dict) or not bundle.experiment.keys() <= {*EXPERIMENT}:
            yield Fault("private", where, f"experiment has more than {', '.join(EXPERIMENT)}")
    elif value.keys() == {"shared"} and _is_shared(value["shared"]):
        shared.replace(value["shared"])
    elif value.keys() == {"result"}:
        bundle.results.append(understood(CLAIMED, value["result"]))
    elif value.keys() == {"record"} and isinstance(value["record"], dict):
        yield from _take_record(bundle, shared, where, value["record"])
    else:
        parts = "neither a plan, nor what is shared, nor a result, nor a record"
        raise ValueError(f"holds {parts}, but {shown(sorted(value))}")


def _is_shared(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {*SHARED}


def _take_record(
    bundle: Bundle, shared: SharedValues, where: str, written: dict[str, Any]
) -> Iterator[Fault]:
    values = shared.whole(written)
    for name in SHARED:
        key, value = written[name], values[name]
        if (digest := hashlib.sha256(line(value).encode()).hexdigest()[:12]) != key:
            text = f"its {name} was changed: the shared entry {key} has the hash {digest}"
            yield Fault("content", where, text, cause_of(name, value))
    try:
        record = understood(RECORD, values)
    except ValueError as error:
        kind = FIRST_WORDS.get(str(error).partition(" ")[0], "schema")
        yield Fault(kind, where, str(error))
        return
    bundle.records.append(record)
    if record_values(record) != values:
        field = _first_difference(values, record_values(record))
        yield Fault("form", where, f"{field} is not spelled as snnbench spells it")
    elif (public := scrubbed(record, placeless)) != values:
        field = _first_difference(values, public)
        yield Fault("private", where, f"{field} says more than may leave a machine")


def _first_difference(stated: Any, right: Any) -> str:
    """Returns the path of the first field in which two records differ."""
    parts: list[tuple[Any, Any, Any]] = []
    if isinstance(stated, dict) and isinstance(right, dict):
        parts = [(key, stated.get(key), right.get(key)) for key in {**stated, **right}]
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        parts = [*zip(range(len(right)), stated, right, strict=True)]
    for name, one, other in parts:
        if one != other:
            rest = _first_difference(one, other)
            return f"{name}.{rest}" if rest else str(name)
    return ""


def _counts(bundle: Bundle) -> Iterator[Fault]:
    header, records = bundle.header, bundle.records
    statuses = dict(Counter(record.status for record in records))
    machines = {machine_of(record): record.machine for record in records}.values()
    kinds = sorted({machine_kind(machine) for machine in machines})
    counted = {"records": len(records), "statuses": statuses, "machines": kinds}
    for name, right in counted.items():
        if (stated := header[name]) != right:
            text = f"the first line says {name} {shown(stated)}, and there are {shown(right)}"
            yield Fault("counts", "", text, MACHINES if name == "machines" else "")
    if header["licence"] != LICENCE:
        yield Fault("form", "line 1", f"licence must be {LICENCE}")


def _order(records: Sequence[Record]) -> Iterator[Fault]:
    places = [(record.case_id, record.block, record.done_key) for record in records]
    if places != sorted(places):
        yield Fault("form", "", "records are not in the order of their case ids, blocks and keys")
