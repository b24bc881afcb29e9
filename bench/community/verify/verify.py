"""Everything about a bundle that can be recomputed is recomputed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from snnbench.adapters.registry import OWN

from ... import __version__
from ...common.texts import clean
from ...core.case import full_name
from ...records.quality import FEWEST_BLOCKS
from ...records.record import Record
from ..bundle import MOST_BYTES, Bundle
from .beside import unlike
from .fault import Fault
from .filling import unfilled
from .form import NoBundle, read_bundle
from .identities import identities
from .proofs import proofs
from .spanned import planned_of
from .times import started_together, times
from .whole import copied, left_out, whole

MOST_LAYERS = 1000
"""Of a network that is built to know its limits: a forged case of millions would fill the memory."""


@dataclass
class Verdict:
    """What is to be said of one file. `faults` are reasons to refuse it; `remarks` are for whoever decides on it."""

    path: Path
    bundle: Bundle
    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults


def verify(paths: Sequence[Path], now: datetime | None = None) -> list[Verdict]:
    """The verdict on each bundle file, alone and beside the others. Raises NoBundle for a file that is none, OSError."""
    now = now or datetime.now(UTC)
    verdicts = {str(path): _verdict(path, now) for path in paths}
    for name, other, fault in copied(
        {name: verdict.bundle.records for name, verdict in verdicts.items()}
    ):
        if name != other:
            verdicts[name].faults.append(fault)
    for name, remark in unlike(
        {name: verdict.bundle for name, verdict in verdicts.items() if verdict.sound}
    ):
        verdicts[name].remarks.append(remark)
    return list(verdicts.values())


def _verdict(path: Path, now: datetime) -> Verdict:
    try:
        if not path.is_file():
            raise NoBundle("it is no file")
        with path.open("rb") as stream:
            content = stream.read(2 * MOST_BYTES + 1)
        if len(content) > 2 * MOST_BYTES:
            raise NoBundle(f"it is larger than {2 * MOST_BYTES / 1e6:g} MB")
        bundle, faults = read_bundle(content.decode())
    except UnicodeDecodeError as error:
        raise NoBundle(f"{path} is no bundle: it is not UTF-8 text (byte {error.start})") from None
    except NoBundle as error:
        raise NoBundle(f"{path} is no bundle: {error}") from None
    for record in bundle.records:
        where = f"{full_name(record.typed_case)}, block {record.block + 1}"
        for check in (identities(record, where), proofs(record, where), times(record, where, now)):
            faults += _as_far_as_it_goes(check, record, where)
    faults += started_together(bundle.records)
    faults += unfilled(bundle.records)
    faults += whole(bundle)
    told = [Fault(one.kind, clean(one.where), clean(one.text), clean(one.cause)) for one in faults]
    return Verdict(path, bundle, told, list(_remarks(bundle)))


def _as_far_as_it_goes(check: Iterator[Fault], record: Record, where: str) -> Iterator[Fault]:
    """A case that this version cannot build is a fault, and no end of the verification."""
    if record.case.get("network"):
        yield Fault(
            "schema",
            where,
            "is of a network of somebody's own, which is in no bundle: nobody can compute it again",
        )
        return
    if (record.case.get("layers") or 0) > MOST_LAYERS:
        yield Fault(
            "schema",
            where,
            f"layers = {record.case['layers']}: nobody computes more than {MOST_LAYERS}",
        )
        return
    try:
        yield from check
    except Exception as error:
        yield Fault(
            "schema",
            where,
            f"{record.case['workload']!r} of these sizes cannot be built: {type(error).__name__}: {error}",
        )


def _remarks(bundle: Bundle) -> Iterator[str]:
    """What is no fault, and what whoever decides on a bundle wants to know."""
    records = bundle.records
    if not bundle.planned:
        known = "its cases are held against its experiment's grid, which cannot tell whether a framework was left out"
        yield f"it has no plan: {known if planned_of(bundle) else 'whether cases were left out cannot be told'}"
    if names := left_out(bundle):
        said = (
            f"{len(names)} planned cases are not in it, such as"
            if len(names) > 1
            else "1 planned case is not in it,"
        )
        yield f"{said} {names[0]}: it is a part of the run"
    theirs = sorted(
        {
            record.adapter["name"]
            for record in records
            if record.adapter["reference"] not in OWN.values()
        }
    )
    if theirs:
        yield f"adapters that are not snnbench's own, of which only a hash is known: {', '.join(theirs)}"
    if others := Counter(record.snnbench for record in records if record.snnbench != __version__):
        named = ", ".join(f"{count} of {version}" for version, count in sorted(others.items()))
        yield f"records of other versions of snnbench, whose stages and limits are not known to {__version__}: {named}"
    if (version := bundle.header["snnbench"]) != __version__:
        yield f"the bundle was written by snnbench {version}, and this is {__version__}"
    first = [record for record in records if not record.block and record.timing("step")]
    if few := [record for record in first if record.measure["blocks"] < FEWEST_BLOCKS]:
        yield f"{len(few)} of {len(first)} timed cases have fewer than {FEWEST_BLOCKS} blocks: no rank of them is decided finely"
    if failed := Counter(
        one.status
        for one in records
        if one.status in ("error", "crash", "import_error", "build_error")
    ):
        yield f"failures: {', '.join(f'{count} {status}' for status, count in sorted(failed.items()))}"
    if not bundle.by:
        yield "nobody says who measured it (bundle --by)"
