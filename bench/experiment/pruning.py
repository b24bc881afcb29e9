"""Cases that need not be tried, because a smaller one ran out of memory or time."""

from dataclasses import replace

from snnbench.adapters.base.case import Case

GROWING = ("layers", "neurons", "time_steps", "batch")
"""Axes along which a case only gets bigger."""


def dominated(case: Case, failed: list[tuple[Case, str]]) -> str | None:
    """Why a case need not be tried: a smaller one of the same kind, of `failed`, ran out of memory or time."""
    growing = [axis for axis in GROWING if getattr(case, axis) is not None]
    for smaller, status in failed:
        same_kind = replace(smaller, **{axis: getattr(case, axis) for axis in GROWING}) == case
        if same_kind and smaller != case and all(getattr(smaller, axis) <= getattr(case, axis) for axis in growing):
            sizes = ", ".join(f"{axis} = {getattr(smaller, axis)}" for axis in growing)
            return f"the smaller case {sizes} ended as {status}"
    return None
