"""What the exit status of the command line means; documented in docs/reference.md, relied on by CI."""

TYPE_CHECKING = False  # as of `typing`, without its import: these numbers must be there at once
if TYPE_CHECKING:
    from ..records.rows import Row

FINE, INTERNAL, USAGE, FAILED, REJECTED, WORSE, NOTHING, AMBIGUOUS, INTERRUPTED = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    130,
)


def with_refused(code: int, refused: list[str]) -> int:
    """`code`; 3 in its place where files were refused, or something is missing, and `code` is no failure."""
    return FAILED if refused and code in (FINE, NOTHING, AMBIGUOUS) else code


def of_statuses(statuses: list[str], named: bool) -> int:
    """4 if a proof failed, else 3 if a case failed, else 0 if one ended well, else 6. A framework that is not installed counts
    only for somebody who `named` it."""
    counted = [status for status in statuses if named or status != "env_error"]
    if "check_failed" in counted:
        return REJECTED
    if any(status not in ("ok", "unsupported") for status in counted):
        return FAILED
    return FINE if "ok" in counted else NOTHING


def of_rows(rows: "list[Row]") -> int:
    """4 if a proof failed or a time is implausible, else 3 if a case failed, else 6 if nothing was measured, else 0."""
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
