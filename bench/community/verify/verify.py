"""Verifies bundles: everything that can be recomputed from the file alone is recomputed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from snnbench.adapters.registry import is_own

from ...common import __version__
from ...common.texts import clean
from ...core.case import full_name
from ...records.quality import FEWEST_BLOCKS
from ...records.record import Record
from ..bundle import MOST_BYTES, Bundle
from .bundle_checks import bundle_faults, planned_of, unrecorded
from .fault import Fault
from .form import NoBundle, read_bundle
from .identities import identities
from .proofs import proofs
from .times import overlaps, times

MOST_LAYERS = 1000
"""Limit of a network that is built for its tolerances: a forged case of millions would fill the
memory."""
FAILURES = ("error", "crash", "import_error", "build_error")


@dataclass
class BundleVerdict:
    """The result for one file: `faults` are reasons to reject it, `remarks` help a maintainer
    decide."""

    path: Path
    bundle: Bundle
    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults


def verify(paths: Sequence[Path], now: datetime | None = None) -> list[BundleVerdict]:
    """Returns the verdict on each bundle file. Raises NoBundle for another file, and OSError."""
    return [_verdict(path, now or datetime.now(UTC)) for path in paths]


def _verdict(path: Path, now: datetime) -> BundleVerdict:
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
            faults += _guarded(check, record, where)
    faults += overlaps(bundle.records)
    faults += bundle_faults(bundle)
    printable = [
        Fault(fault.kind, clean(fault.where), clean(fault.text), clean(fault.cause))
        for fault in faults
    ]
    return BundleVerdict(path, bundle, printable, list(_remarks(bundle)))


def _guarded(check: Iterator[Fault], record: Record, where: str) -> Iterator[Fault]:
    """Yields the faults of `check`, or one fault for a case that this version cannot build."""
    layers = record.case.get("layers") or 0
    if record.case.get("network"):
        text = "is of a user's own network, which no bundle contains: it cannot be recomputed"
        yield Fault("schema", where, text)
    elif layers > MOST_LAYERS:
        yield Fault("schema", where, f"layers = {layers}: at most {MOST_LAYERS} are recomputed")
    else:
        try:
            yield from check
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            text = f"{record.case['workload']!r} of these sizes cannot be built: {cause}"
            yield Fault("schema", where, text)


def _remarks(bundle: Bundle) -> Iterator[str]:
    """Yields sentences on what is no fault and helps a maintainer decide."""
    records = bundle.records
    if not bundle.planned:
        checked = (
            "its cases are checked against its experiment's grid, which does not name frameworks"
        )
        unknown = "left-out cases cannot be detected"
        yield f"it has no plan: {checked if planned_of(bundle) else unknown}"
    if names := unrecorded(bundle):
        count = len(names)
        some = f"{count} planned cases are not in it, such as" if count > 1 else ""
        yield f"{some or '1 planned case is not in it,'} {names[0]}: it is a part of the run"
    third_party = {
        record.adapter["name"] for record in records if not is_own(record.adapter["reference"])
    }
    if third_party:
        yield f"third-party adapters, known by their hash only: {', '.join(sorted(third_party))}"
    if others := Counter(record.snnbench for record in records if record.snnbench != __version__):
        counts = ", ".join(f"{count} of {version}" for version, count in sorted(others.items()))
        yield (
            "records of other versions of snnbench, with stages and limits unknown to "
            f"{__version__}: {counts}"
        )
    if (version := bundle.header["snnbench"]) != __version__:
        yield f"the bundle was written by snnbench {version}, and this is {__version__}"
    first = [record for record in records if not record.block and record.timing(record.ranked)]
    if few := sum(record.measure["blocks"] < FEWEST_BLOCKS for record in first):
        yield (
            f"{few} of {len(first)} timed cases have fewer than {FEWEST_BLOCKS} blocks: their "
            "spread is hardly known"
        )
    if failed := Counter(record.status for record in records if record.status in FAILURES):
        counts = ", ".join(f"{count} {status}" for status, count in sorted(failed.items()))
        yield f"failures: {counts}"
    if not bundle.by:
        yield "it does not name its submitter (bundle --by)"
