"""The answer on one comparison group in a few sentences: fastest case, margin, memory,
certainty."""

from collections.abc import Callable, Sequence

from ..common import units
from ..common.texts import cut
from ..records.rows import Row
from .coverage import FLAGS

OURS = ("fused", "frames")
"""This project's own frameworks: its kernels and its data loading."""
MOST_OF_A_REASON = 160


def answer(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on the ranked cases and on the missing ones with their reasons."""
    ranked = sorted(
        (row for row in rows if row.standing),
        key=lambda row: row.standing.place if row.standing else 0,
    )
    if not ranked:
        return ["No answer: nothing could be ranked; the table says why.", *_missing(rows)]
    best, *others = ranked
    level = [row for row in others if is_level(row)]
    stopped = [row for row in others if row.first.beyond]
    later = [row for row in others if row not in level and row not in stopped]
    return [
        fastest(best, level),
        *(f"{_name(row)} takes {_ratio(row)} times as long, with {_memory(row)}." for row in later),
        *_stopped(stopped),
        *_leanest(best, others),
        _sure(best, level, len(others)),
        *_missing(rows),
    ]


def _name(row: Row) -> str:
    return row.case.framework_variant


def is_level(row: Row) -> bool:
    """Returns whether the case is not shown to be slower than the best of its group."""
    return row.standing is not None and row.standing.best == 1


def fastest(
    best: Row, level: Sequence[Row], name: Callable[[Row], str] = _name, most: int | None = None
) -> str:
    """Returns the sentence on the fastest case, or on a tie with the `level` ones, of which `most`
    are named."""
    time = best.estimates["step"]
    between = (
        f" ({units.seconds_between(time.low, time.high)})"
        if time.low is not None and time.high is not None
        else ""
    )
    word = "an epoch" if best.delivers else "a step"
    figures = (
        f"{units.seconds(time.seconds)} "
        f"{word}{between}{'' if best.delivers else f', with {_memory(best)}'}"
    )
    if not level:
        return f"The fastest is {name(best)}: {figures}."
    rivals = [f"{name(row)} ({_ratio(row)} times as long)" for row in level[:most]]
    more = [f"{len(level) - len(rivals)} more"] if len(level) > len(rivals) else []
    return (
        f"Not decided: {name(best)} took {figures}, and is not shown to be faster than "
        f"{', '.join([*rivals, *more])}."
    )


def _ratio(row: Row) -> str:
    standing = row.standing
    assert standing is not None
    return units.ratio(standing.ratio, standing.low, standing.high, sign="")


def _memory(row: Row) -> str:
    size = row.most_memory("peak")
    return "unknown memory" if size is None else f"{units.size(size)} of memory"


def _stopped(rows: Sequence[Row]) -> list[str]:
    bounds = sorted({row.first.beyond for row in rows if row.first.beyond})
    named = {
        bound: ", ".join(_name(row) for row in rows if row.first.beyond == bound)
        for bound in bounds
    }
    return [
        f"Shown to take more than {bound:g} times as long, and timed no more: {names}."
        for bound, names in named.items()
    ]


def _leanest(best: Row, others: Sequence[Row]) -> list[str]:
    """Returns a sentence on a case with less memory than the fastest, by the same meaning of
    memory."""
    alike = [row for row in others if row.first.memory_meaning == best.first.memory_meaning]
    sizes = [(size, row) for row in alike if (size := row.most_memory("peak")) is not None]
    least = min(sizes, key=lambda size_and_row: size_and_row[0], default=None)
    own_size = best.most_memory("peak")
    if least is None or own_size is None or least[0] >= own_size:
        return []
    return [f"The least memory is {_name(least[1])}'s: {units.size(least[0])}."]


def _sure(best: Row, level: Sequence[Row], others: int) -> str:
    assert best.standing is not None
    if not others:
        return "How sure: there is no other case to compare it with."
    if best.standing.note:
        return f"How sure: not at all ({best.standing.note})."
    flags = list(dict.fromkeys(flag for row in (best, *level) for flag in row.quality))
    doubts = f"; to be doubted: {', '.join(FLAGS[flag][0] for flag in flags)}" if flags else ""
    blocks = f"{len(best.records)} sets of fresh processes"
    return (
        f"How sure: 95 % intervals over {blocks}; of twenty such tables one may hold a wrong "
        f"verdict{doubts}."
    )


def _missing(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on unranked cases; unsupported ones are only named."""
    failed = [row for row in rows if row.status not in ("ok", "unsupported")]
    cannot = [row for row in rows if row.status == "unsupported"]
    sentences = [f"Missing: {'; '.join(map(_failure, failed))}."] if failed else []
    return sentences + (
        [f"Unsupported by {', '.join(map(_name, cannot))}; the table says why."] if cannot else []
    )


def _failure(row: Row) -> str:
    record = next(record for record in row.records if record.status == row.status)
    load, cores = record.monitor.get("load_average"), record.machine.get("usable_threads")
    busy = (
        f", at a load of {load:.1f} on {cores} cores"
        if row.status == "timeout" and load is not None and cores
        else ""
    )
    return (
        f"{_name(row)} ({row.status}: "
        f"{cut(row.reason or 'no reason is known', MOST_OF_A_REASON)}{busy})"
    )
