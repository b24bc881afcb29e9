"""Summarises a comparison group or a whole report in a few sentences."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from snnbench.adapters.registry import OURS

from ..common import units
from ..common.texts import cut
from ..records.rows import Row, grouped
from .columns.latency import LEAST_OF_P99, single_calls
from .columns.metric import Entry
from .table import Table
from .words import FLAGS, at_phase, per_call

MOST_OF_A_REASON = 160
NOTHING = "Nothing is ranked: no case was both proved and timed."
NATIVE = "Nothing is ranked: each framework's own neuron is another network."
MOST_NAMES = 4

Group = list[Entry]
"""Ranked cases of one comparison group, the fastest first."""


def answer(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on the ranked cases of one group, and on the missing ones with their
    reasons."""
    ranked = _by_place(rows)
    if not ranked:
        why = "the table has the reasons" if rows else "no framework was measured"
        return [f"Nothing could be ranked; {why}.", *_missing(rows)]
    best, *others = ranked
    tied = [row for row in others if may_be_fastest(row)]
    opening = [fastest(best, tied, _marked_name, MOST_NAMES), *_of_the_others(ranked)]
    order = [*_in_order(ranked), *_leanest(best, others)]
    return [
        " ".join(opening),
        *([" ".join(order)] if order else []),
        _certainty(best, tied, others),
        *_of_the_input(best),
        *_too_few_calls(ranked),
        *_missing(rows),
    ]


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns what `answer` says of the ranked cases of one group, as values.

    `timed` is what ranks them. `fastest` and `fastest_of_others` (than ours) have several names if
    it is undecided between them; in `order` each case of a list is surely faster than all of the
    lists behind it.
    """
    ranked = _by_place(rows)
    return {
        "timed": _timed(ranked[0]) if ranked else None,
        "fastest": [_name(row) for row in ranked if may_be_fastest(row)],
        "fastest_of_others": [_name(row) for row in _first_of_others(ranked)],
        "ours": [_name(row) for row in ranked if _ours(row)],
        "order": [[_name(row) for row in rank] for rank in _ranks(ranked)],
        "surely_slower": {_name(row): list(row.surely_slower) for row in ranked},
        "proved": len(ranked),
    }


def _by_place(rows: Sequence[Row]) -> list[Row]:
    """Returns the ranked rows, the fastest first."""
    return sorted((row for row in rows if row.standing), key=_place)


def _place(row: Row) -> int:
    assert row.standing is not None
    return row.standing.place


def _first_of_others(ranked: Sequence[Row]) -> list[Row]:
    """Returns the third-party cases that none of them is surely faster than."""
    others = [row for row in ranked if not _ours(row)]
    beaten = {name for row in others for name in row.surely_slower}
    return [row for row in others if _name(row) not in beaten]


def _of_the_others(ranked: Sequence[Row]) -> list[str]:
    """Returns a sentence on the fastest third-party case if ours is faster than all of them."""
    first = _first_of_others(ranked)
    others = sum(not _ours(row) for row in ranked)
    if not first or not _ours(ranked[0]) or any(map(may_be_fastest, first)):
        return []
    if len(first) == 1:
        return [f"Of the others it is {_name(first[0])}."]
    if len(first) == others or len(first) > MOST_NAMES:
        return ["Of the others it is not decided."]
    return [f"Of the others it is not decided between {_listed(map(_name, first))}."]


def _ranks(ranked: Sequence[Row]) -> list[list[Row]]:
    """Returns lists of cases, each surely faster than all cases of the lists behind it."""
    ranks: list[list[Row]] = [[]]
    for at, row in enumerate(ranked):
        behind = {_name(other) for other in ranked[at:]}
        if at and all(behind <= {*other.surely_slower} for other in ranked[:at]):
            ranks.append([])
        ranks[-1].append(row)
    return ranks


def _in_order(ranked: Sequence[Row]) -> list[str]:
    """Returns sentences on the order behind the fastest, with ratios to it, and on pairs that are
    decided inside a rank; nothing if no pair is decided."""
    if not any(row.surely_slower for row in ranked):
        return []
    ranks = _ranks(ranked)
    order = f"In order: {'; '.join(map(_rank_text, ranks))}."
    return [order, *(text for rank in ranks if (text := _inside(rank)))]


def _rank_text(rank: Sequence[Row]) -> str:
    """Returns `jax (2.0 times, surely 1.7 or more) and spyx (2.1 times, surely 1.9 or more), with
    nothing decided between them`. Bounds are rounded down."""
    names = _listed(map(_name_with_ratio, rank))
    undecided = len(rank) > 1 and not _inside(rank)
    return names + ", with nothing decided between them" * undecided


def _inside(rank: Sequence[Row]) -> str:
    """Returns `From jax to norse: jax is ahead of torch and all behind it; nothing else is
    decided.`, empty if nothing is decided inside the rank."""
    names = [_name(row) for row in rank]
    ahead: dict[str, list[str]] = {}
    for row in rank:
        slower = [name for name in names if name in row.surely_slower]
        if slower:
            all_behind = len(slower) > 2 and slower == names[-len(slower) :]
            text = f"{slower[0]} and all behind it" if all_behind else _listed(slower)
            ahead.setdefault(text, []).append(_name(row))
    decided = [
        f"{_listed(fast)} {'are' if fast[1:] else 'is'} ahead of {slow}"
        for slow, fast in ahead.items()
    ]
    if not decided:
        return ""
    return f"From {names[0]} to {names[-1]}: {'; '.join(decided)}; nothing else is decided."


def _name_with_ratio(row: Row) -> str:
    standing = row.standing
    assert standing is not None
    if standing.place == 1:
        return _marked_name(row)
    low = standing.low or 0.0
    surely = "" if standing.by_clocks else "surely "
    sure = f", {surely}{units.least_ratio(low)} or more" if low >= 1.05 else ""
    return f"{_marked_name(row)} ({units.plain_ratio(standing.ratio)} times{sure})"


def _listed(names: Iterable[str]) -> str:
    """Returns `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _timed(row: Row) -> str:
    """Returns the word for what the row is ranked by."""
    return "epoch" if row.case.delivers_data else row.ranked


def _name(row: Row) -> str:
    return row.case.framework_variant


def may_be_fastest(row: Row) -> bool:
    """Returns whether the case is not shown to be slower than the fastest of its group."""
    return row.standing is not None and row.standing.best == 1


def fastest(
    best: Row, tied: Sequence[Row], name: Callable[[Row], str] = _name, most: int | None = None
) -> str:
    """Returns the sentence on the fastest case, or on the cases `tied` with it; at most `most` of
    them are named."""
    time, timed = best.estimates[best.ranked], _timed(best)
    between, seconds = "", units.seconds(time.seconds)
    if time.low is not None and time.high is not None:
        between = f" ({units.seconds_between(time.low, time.high)})"
    between = " beside other programs" if best.unclean else between
    figures = f"{seconds} {per_call(timed)}{between}"
    figures += "" if best.case.delivers_data else f", with {_memory(best)}"
    if not tied:
        return f"The fastest{at_phase(timed)} is {name(best)}: {figures}."
    rivals = [f"{name(row)} ({_ratio(row)} times as long)" for row in tied[:most]]
    more = [f"{len(tied) - len(rivals)} more"] if len(tied) > len(rivals) else []
    return (
        f"Not decided{at_phase(timed)}: {name(best)} took {figures}, but is not shown to be "
        f"faster than {', '.join([*rivals, *more])}."
    )


def _ratio(row: Row) -> str:
    standing = row.standing
    assert standing is not None
    if standing.low is None:
        return units.plain_ratio(standing.ratio)
    return units.ratio(standing.ratio, standing.low, standing.high, sign="")


def _memory(row: Row) -> str:
    size = row.most_memory("peak")
    return "unknown memory" if size is None else f"{units.size(size)} of memory"


def _leanest(best: Row, others: Sequence[Row]) -> list[str]:
    """Returns a sentence on a case with less memory than the fastest, by the same meaning of
    memory."""
    alike = [row for row in others if row.first.memory_meaning == best.first.memory_meaning]
    sizes = [(size, row) for row in alike if (size := row.most_memory("peak")) is not None]
    least = min(sizes, key=lambda size_and_row: size_and_row[0], default=None)
    own_size = best.most_memory("peak")
    if least is None or own_size is None or least[0] >= own_size:
        return []
    return [f"{_name(least[1])} needs the least memory: {units.size(least[0])}."]


def _certainty(best: Row, tied: Sequence[Row], others: Sequence[Row]) -> str:
    assert best.standing is not None
    if not others:
        return "How sure: there is no other case to compare it with."
    all_of_them = "Both" if len(others) == 1 else f"All {len(others) + 1}"
    same = f"{all_of_them} were proved to compute the same network."
    if best.standing.note:
        return f"How sure: not at all ({best.standing.note}). {same}"
    flags = list(dict.fromkeys(flag for row in (best, *tied) for flag in row.quality))
    caution = f" Caution: {', '.join(FLAGS[flag][0] for flag in flags)}." if flags else ""
    count = len(best.records)
    tested = [row for row in others if row.standing and row.standing.high is not None]
    beyond = [row for row in others if row not in tested and row.standing and row.standing.low]
    stopped = [row for row in beyond if row.stopped_beyond]
    by_passes = [row for row in beyond if not row.stopped_beyond]
    unclean = [row for row in tested if row.standing and row.standing.by_clocks]
    how = []
    if len(tested) > len(unclean):
        how.append(
            f"95 % intervals over {count} blocks of fresh processes; with a fixed number of blocks "
            "the chance of a wrong order is at most 5 %"
        )
    if stopped:
        was = "was" if len(stopped) == 1 else "were"
        how.append(
            f"{_listed(map(_name, stopped))} {was} stopped in the first block, where most passes "
            f"showed {stopped[0].stopped_beyond:g} times the fastest's time or more"
        )
    if by_passes:
        how.append(
            f"most passes of one block showed {_listed(map(_name, by_passes))} to take "
            f"{min(row.standing.low or 0.0 for row in by_passes if row.standing):g} times the "
            "fastest's time or more"
        )
    if unclean:
        have = "has" if len(unclean) == 1 else "have"
        how.append(
            f"{_listed(map(_name, unclean))} {have} too few clean slots in common with the "
            "fastest, so all slots count, by wall and CPU times that must agree; the chance of a "
            "wrong order is then not known"
        )
    how = how or ["most passes of one block show a factor of two or more"]
    return f"How sure: {'; '.join(how)}. {same}{caution}"


def _of_the_input(best: Row) -> list[str]:
    """Returns a sentence on the gradient of the input, which a step may include."""
    if best.ranked != "step" or best.case.input_grad is None:
        return []
    if best.case.input_grad:
        use = "as a layer inside a network does; input_grad = false leaves it out"
        return [f"A step includes the gradient of the input, {use}."]
    return ["A step includes no gradient of the input, which training a network does not need."]


def _too_few_calls(ranked: Sequence[Row]) -> list[str]:
    """Returns a sentence on single calls if there are too few for their p99."""
    counts = {_name(row): len(calls) for row in ranked if (calls := single_calls(row))}
    most = max(counts, key=lambda name: counts[name], default=None)
    if most is None or counts[most] >= LEAST_OF_P99:
        return []
    return [
        f"p99 of single calls needs {LEAST_OF_P99} recorded ones; {most} has {counts[most]}, and "
        "more blocks record more."
    ]


def _missing(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on unranked cases, each reason once; unsupported ones are only named, and
    of an interruption the verb speaks."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.status not in ("ok", "unsupported", "interrupted"):
            reasons.setdefault(_failure(row), []).append(_name(row))
    failed = [f"{_listed(names)} ({reason})" for reason, names in reasons.items()]
    cannot = [row for row in rows if row.status == "unsupported"]
    sentences = [f"Missing: {'; '.join(failed)}."] if failed else []
    return sentences + (
        [f"Unsupported by {', '.join(map(_name, cannot))}; the table says why."] if cannot else []
    )


def _failure(row: Row) -> str:
    record = next(record for record in row.records if record.status == row.status)
    load, cores = record.monitor.get("load_average"), record.machine.get("usable_threads")
    reason = cut(row.reason or "no reason is known", MOST_OF_A_REASON)
    if row.status == "timeout" and load is not None and cores:
        reason += f", at a load of {load:.1f} on {cores} cores"
    return f"{row.status}: {reason}"


def report_answer(table: Table) -> list[str]:
    """Returns sentences on the ranked cases, for each precision: how often which framework is
    fastest, its margin, and ties.

    With one group: `The fastest is fused (ours): 1.08 ms a step (1.07–1.09), with 2 MiB of memory.`
    """
    groups = [ranked for _, group in table.comparison_groups() if (ranked := _ranked(group))]
    if not groups:
        return [
            NATIVE if any(entry.native and entry.row.sound for entry in table.entries) else NOTHING
        ]
    sentences = []
    by_kind = grouped(groups, lambda group: (group[0].row.case.precision, _timed(group[0].row)))
    several = len({precision for precision, _ in by_kind}) > 1
    for (precision, timed), same_kind in by_kind.items():
        before = f"{precision}: " if several else ""
        texts = _sentences(same_kind, timed)
        sentences += [before + text for text in texts]
    return sentences


def _ranked(group: Sequence[Entry]) -> Group:
    ranked = (entry for entry in group if entry.row.standing)
    return sorted(ranked, key=lambda entry: _place(entry.row))


def _sentences(groups: list[Group], timed: str) -> list[str]:
    """Returns sentences on groups of one precision that are ranked by `timed`."""
    if len(groups) == 1:
        return [_group_text(groups[0], timed)]
    decided = [group for group in groups if _is_decided(group)]
    sentences = [f"{_wins(groups, decided, f'fastest {timed}')}.{_margins(decided)}"]
    rows = [entry.row for group in groups for entry in group]
    tied = Counter(_marked_name(row) for row in rows if may_be_fastest(row))
    if tied and not decided:
        named = [f"{name} in {number}" for name, number in tied.most_common(MOST_NAMES)]
        named += [f"{len(tied) - MOST_NAMES} more"] if len(tied) > MOST_NAMES else []
        sentences.append(f"Not shown to be slower than the first: {', '.join(named)}.")
    rests = ([entry for entry in group if not _ours(entry.row)] for group in groups)
    others = [rest for rest in rests if rest]
    if others and any(_ours(group[0].row) for group in decided):
        clear = [group for group in others if _beats_all(group)]
        sentences.append(f"{_wins(others, clear, f'fastest {timed} of the others')}.")
    return sentences


def _ours(row: Row) -> bool:
    return row.case.framework.partition(" ")[0] in OURS


def _marked_name(row: Row) -> str:
    return _name(row) + " (ours)" * _ours(row)


def _is_decided(group: Group) -> bool:
    """Returns whether the first case is shown to be faster than all others; False if it is
    alone."""
    return len(group) > 1 and not any(may_be_fastest(entry.row) for entry in group[1:])


def _beats_all(group: Group) -> bool:
    """Returns whether the first case is surely faster than all others of `group`, a part of a
    comparison group; False if it is alone."""
    return len(group) > 1 and {entry.variant for entry in group[1:]} <= {
        *group[0].row.surely_slower
    }


def _group_text(group: Group, timed: str) -> str:
    first = group[0].row
    if len(group) == 1:
        time = units.seconds(group[0].values[f"{first.ranked}_s"])
        only = f"{_marked_name(first)} is the only ranked case{at_phase(timed)}"
        return f"{only}: {time} {per_call(timed)}."
    tied = [entry.row for entry in group[1:] if may_be_fastest(entry.row)]
    slower = [entry for entry in group[1:] if not may_be_fastest(entry.row)]
    sentences = [fastest(first, tied, _marked_name, MOST_NAMES)]
    if slower:
        sentences.append(f"{_marked_name(slower[0].row)} is next, at {_times(slower[0])} its time.")
    if first.standing and first.standing.note:
        sentences.append(f"Nothing is decided here ({first.standing.note}).")
    return " ".join(sentences)


def _times(entry: Entry) -> str:
    ratio, low, high = (entry.values[name] for name in ("ratio", "ratio_low", "ratio_high"))
    return units.ratio(ratio, low, high, sign=" times")


def _wins(groups: list[Group], decided: list[Group], what: str) -> str:
    """Returns `fused (ours) has the fastest step in 5 of 8 conditions, jax in 2; 1 is undecided`,
    where `what` is `fastest step`."""
    total, alone = len(groups), sum(len(group) == 1 for group in groups)
    undecided = total - len(decided) - alone
    one_ranked = [f"only one case is ranked in {alone}"] if alone else []
    if not decided:
        everywhere = "both" if total == 2 else f"all {total}"
        return "; ".join(
            [f"The {what} is undecided in {everywhere} conditions{_notes(groups)}", *one_ranked]
        )
    (name, count), *others = Counter(_marked_name(group[0].row) for group in decided).most_common()
    where = f"{count} of {total}" if count < total else "both" if total == 2 else f"all {total}"
    named = [f"{name} has the {what} in {where} conditions"]
    named += [f"{other} in {number}" for other, number in others[:MOST_NAMES]]
    remaining = sum(number for _, number in others[MOST_NAMES:])
    named += [f"{len(others) - MOST_NAMES} more in {remaining}"] if remaining else []
    verb = "is" if undecided == 1 else "are"
    rest = [f"{undecided} {verb} undecided{_notes(groups)}"] if undecided else []
    return "; ".join([", ".join(named), *rest, *one_ranked])


def _notes(groups: list[Group]) -> str:
    """Returns the known reasons of undecided groups."""
    standings = (group[0].row.standing for group in groups)
    notes = dict.fromkeys(each.note for each in standings if each and each.note)
    return f" ({'; '.join(notes)})" if notes else ""


def _margins(decided: list[Group]) -> str:
    """Returns a sentence with the least and the largest ratio of the second case in decided
    groups, after a space; empty without such groups."""
    ratios = sorted(
        {units.ratio(group[1].values["ratio"], sign="") for group in decided}, key=float
    )
    if not ratios:
        return ""
    least, *_, most = ratios * 2
    where = f", in one condition, to {most}, in another" if least != most else ""
    return f" The next takes {'from ' * (least != most)}{least} times as long{where}."
