"""Cases that need not be tried, because a smaller one ran out of memory or time."""

from dataclasses import replace

from ..core.case import SIZES, Case, sizes


def dominated(case: Case, failed: list[tuple[Case, str]]) -> str | None:
    """Why a case need not be tried: a smaller one of the same kind, of `failed`, ran out of memory or time."""
    own = {name: size for name in SIZES if (size := getattr(case, name)) is not None}
    for smaller, status in failed:
        same_kind = replace(smaller, **own) == case
        if (
            same_kind
            and smaller != case
            and all(getattr(smaller, name) <= size for name, size in own.items())
        ):
            return f"the smaller case {sizes(smaller)} ended as {status}"
    return None
