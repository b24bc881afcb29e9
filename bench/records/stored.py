"""Two sets that were measured at different times → block contrasts of each case's times, less what all cases have in common.

Between two sets the machine drifts, by 1 to 3 % on a quiet one, and no block of either shows that. What the cases of a comparison
group share of it is taken out: from a case's log ratio, new over base, the median of the others'. The canary, a task that is
always the same, counts as one of these. What is left, BETWEEN, is as large as the noise of many blocks: see `Pair.spread`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snnbench.adapters.base.case import full_name
from snnbench.adapters.base.contract import Array

from .changes import Pair
from .contrasts import medians
from .pairing import levels
from .rows import Row, comparison_group
from .sides import canary

RowPair = tuple[Row, Row]
BETWEEN = float(np.sqrt(2)) * 0.01
"""Standard deviation of a log ratio between two quiet sets: each of them moves by 1 % against the other cases of its run."""
BETWEEN_ALONE = float(np.sqrt(2)) * 0.026
"""The same of a time with which nothing else can be compared."""
FEWEST_OTHERS = 2
"""A comparison group of fewer others is too small to tell what is common; all cases on the device are asked then."""


@dataclass(frozen=True)
class _Phase:
    """Log ratios, new over base, of the pairs that have times of a phase: by block, (pairs, blocks), of the case and of its
    canary (NaN where unknown), and of the published times, (pairs, 1)."""

    pairs: list[RowPair]
    blocks: Array
    canaries: Array
    published: Array


def stored_pairs(pairs: Sequence[RowPair], phase: str, same_machine: bool) -> list[Pair]:
    """Of all cases that have times of the phase in both sets. Between machines only ratios within a comparison group say
    something, and a case that is alone in its group is left out."""
    timed = _phase([pair for pair in pairs if all(phase in row.estimates for row in pair)], phase)
    found = []
    for index, (old, now) in enumerate(timed.pairs):
        others = _others(timed.pairs, index, same_machine)
        usable = same_machine and old.case.device == "cpu" and bool(np.isfinite(timed.canaries[index]).any())
        if not others and not same_machine:
            continue
        contrasts = less_common(timed.blocks, index, others, timed.canaries[index] if usable else None)
        plain = less_common(timed.published, index, others, None)
        spread = BETWEEN if others or usable else BETWEEN_ALONE
        seconds = old.estimates[phase].seconds, now.estimates[phase].seconds
        found.append(Pair(full_name(old.case), phase, *seconds, contrasts, float(plain[0]), spread))
    return found


def common_shift(pairs: Sequence[RowPair]) -> float | None:
    """The median ratio of published step times, new over base: what all cases have in common, the machine's drift above all."""
    steps = [[row.estimates["step"].seconds for row in pair] for pair in pairs if all("step" in row.estimates for row in pair)]
    return float(np.median([now / old for old, now in steps])) if steps else None


def _phase(pairs: list[RowPair], phase: str) -> _Phase:
    blocks = sorted({record.block for pair in pairs for row in pair for record in row.records})
    logs, canaries = np.full((2, len(pairs), 2, len(blocks)), np.nan)
    for index, pair in enumerate(pairs):
        for side, row in enumerate(pair):
            for record in row.records:
                at = blocks.index(record.block)
                if record.timing(phase):
                    logs[index, side, at] = levels([[record]], phase)[0, 0]
                if seconds := canary(record):
                    canaries[index, side, at] = np.log(seconds)
    published = np.log([[row.estimates[phase].seconds for row in pair] for pair in pairs]).reshape(-1, 2)
    return _Phase(pairs, logs[:, 1] - logs[:, 0], canaries[:, 1] - canaries[:, 0], published[:, 1:] - published[:, :1])


def _others(pairs: Sequence[RowPair], index: int, same_machine: bool) -> list[int]:
    """Pairs that show what is common to a pair and others: those of its group, or of its device if the group is too small."""
    own, device = comparison_group(pairs[index][0])[1:], pairs[index][0].case.device
    others = [other for other in range(len(pairs)) if other != index]
    group = [other for other in others if comparison_group(pairs[other][0])[1:] == own]
    if len(group) >= FEWEST_OTHERS or not same_machine:
        return group
    return [other for other in others if pairs[other][0].case.device == device]


def less_common(ratios: Array, index: int, others: list[int], canaries: Array | None) -> Array:
    """A pair's log ratios less the median of the others' and of the canary's. With one other alone nobody knows which of the
    two has changed: half of the difference counts for each."""
    own: Array = ratios[index]
    witnesses = np.array([*ratios[others], *([] if canaries is None else [canaries])])
    if len(witnesses):
        own = own - medians(witnesses.T)
    return own / 2 if len(others) == 1 and canaries is None else own
