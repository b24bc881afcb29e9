"""Exit codes of the command line. The table in docs/reference.md lists the same."""

TYPE_CHECKING = False  # spares the import of `typing`: every command loads this file at once
if TYPE_CHECKING:
    from ..records.rows import Row

FINE = 0
INTERNAL = 1
USAGE = 2
FAILED = 3
REJECTED = 4
WORSE = 5
NOTHING = 6
AMBIGUOUS = 7
INTERRUPTED = 130

MEANINGS = {
    FINE: "fine",
    INTERNAL: "internal error",
    USAGE: "usage or config",
    FAILED: "a case failed",
    REJECTED: "proof failed, implausible time or faulty bundle",
    WORSE: "worse than the baseline",
    NOTHING: "nothing measured or comparable",
    AMBIGUOUS: "ambiguous or unsure",
    INTERRUPTED: "interrupted",
}


def with_refused(code: int, refused: list[str]) -> int:
    """Returns FAILED if files were refused or are missing and `code` is no failure, else `code`."""
    return FAILED if refused and code in (FINE, NOTHING, AMBIGUOUS) else code


def of_statuses(statuses: list[str]) -> int:
    """Returns REJECTED if a proof failed, else FAILED if a case failed or its framework is not
    installed, else FINE if one is ok, else NOTHING."""
    if "check_failed" in statuses:
        return REJECTED
    if any(status not in ("ok", "unsupported") for status in statuses):
        return FAILED
    return FINE if "ok" in statuses else NOTHING


def of_rows(rows: "list[Row]") -> int:
    """Returns REJECTED if a proof failed or a time is implausible, else FAILED if a case
    failed, else NOTHING if nothing was measured, else FINE."""
    from ..core.status import RETRIED

    statuses = {record.status for row in rows for record in row.records}
    if statuses & {"check_failed", "implausible"}:
        return REJECTED
    if statuses & set(RETRIED):
        return FAILED
    if not any(
        row.estimates or (row.proved and not row.first.measure.get("timed", True)) for row in rows
    ):
        return NOTHING
    return FINE
