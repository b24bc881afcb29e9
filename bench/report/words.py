"""Words of the report: conditions, meanings of statuses, remarks and ranks as text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..common.units import counted
from ..core.case import CASE_FIELDS
from ..core.status import RESULTS, RETRIED, STATUSES
from ..core.variant import VARIANT_FIELDS
from ..records.rows import Row


@dataclass(frozen=True)
class Axis:
    """A condition of comparison groups: heading, words for a value, and unit of a number."""

    head: str
    say: Callable[[Any], str] = str
    unit: str = ""


AXES = {
    "neuron": Axis("neuron", lambda value: f"neuron {value.label()}"),
    "workload": Axis("workload"),
    "network": Axis("network"),
    "device": Axis("device"),
    "precision": Axis("precision"),
    "layers": Axis("layers", lambda value: counted(value, "layer"), unit="count"),
    "inputs": Axis("inputs", lambda value: counted(value, "input"), unit="count"),
    "neurons": Axis("N", lambda value: f"N = {value}", unit="count"),
    "outputs": Axis("outputs", lambda value: counted(value, "output"), unit="count"),
    "time_steps": Axis("T", lambda value: f"T = {value}", unit="count"),
    "batch": Axis("B", lambda value: f"B = {value}", unit="count"),
    "width": Axis("width", lambda value: f"width {value}", unit="count"),
    "image": Axis("image", lambda value: f"{value} × {value} pixels", unit="count"),
    "classes": Axis("classes", lambda value: f"{value} classes", unit="count"),
    "norm": Axis("norm", lambda value: "norms" if value else "no norms"),
    "recurrent": Axis("recurrent", lambda value: "recurrent" if value else "not recurrent"),
    "readout": Axis("readout"),
    "heads": Axis("heads", lambda value: f"{value} heads", unit="count"),
    "input": Axis(
        "input", lambda value: "input of spikes" if value == "spikes" else f"{value} input"
    ),
    "firing": Axis(
        "input firing", lambda value: f"{100 * value:g} % of the input fires", unit="share"
    ),
    "bias": Axis("bias", lambda value: "bias" if value else "no bias"),
    "input_grad": Axis(
        "input gradient", lambda value: "input gradient" if value else "no input gradient"
    ),
    "dataset": Axis("data set"),
    "samples": Axis("samples", lambda value: f"{value:,} samples", unit="count"),
    "loaders": Axis("loaders", lambda value: counted(value, "loader"), unit="count"),
    "pinned": Axis("pinned", lambda value: "pinned" if value else "not pinned"),
    "augment": Axis("augment", lambda value: "augmented" if value else "not augmented"),
    "behind": Axis("behind", lambda value: f"{value} behind"),
    "recipe": Axis("recipe", lambda value: f"recipe {value}"),
    "loss": Axis("loss", lambda value: f"loss {value}" if value else "a given gradient"),
    "optimizer": Axis("optimizer", lambda value: value or "plain descent"),
    "parallel": Axis("parallel", lambda value: f"{value} parallel"),
    "ranks": Axis("ranks", lambda value: f"{value} ranks", unit="count"),
    "seed": Axis("seed", lambda value: f"seed {value}", unit="count"),
}
"""Conditions among the fields of a case, in order; any other field goes by its own name."""

CONDITIONS = [*AXES, *(name for name in CASE_FIELDS if name not in (*AXES, *VARIANT_FIELDS))]
"""Fields of a case that do not belong to the framework."""


def axis_of(name: str) -> Axis:
    """Returns the condition of the field `name` of a case."""
    words = name.replace("_", " ")
    return AXES.get(name) or Axis(words, lambda value: f"{words} {value}")


def per_call(timed: str) -> str:
    """Returns `a step`, `an epoch`, or `a call` of another phase."""
    return {"step": "a step", "epoch": "an epoch"}.get(timed, "a call")


def at_phase(timed: str) -> str:
    """Returns ` at inference`; empty for a step and an epoch, which go without saying."""
    return "" if timed in ("step", "epoch") else f" at {timed}"


def cores_text(threads: int) -> str:
    """Returns the setting `threads` in words."""
    return {0: "all cores", 1: "1 core"}.get(threads, f"{threads} cores")


def recordings_text(recordings: str | None) -> str:
    """Returns the content of a record's recordings in words, a hash by its first digits."""
    if recordings is None:
        return "recordings not known"
    kind, _, digest = recordings.partition(":")
    return f"recordings {digest[:8] if kind == 'sha256' else recordings}"


MEANINGS = {
    "ok": "proved and measured",
    "unsupported": "the framework cannot do this, or not this network",
    "pruned": "not tried: a smaller case ran out of memory or time",
    "oom_gpu": "GPU memory ran out",
    "oom_host": "host memory ran out",
    "timeout": "took longer than the time allowed",
    "interrupted": "the run was stopped",
    "env_error": "the framework is not installed",
    "import_error": "the framework cannot be imported",
    "build_error": "the network cannot be built",
    "crash": "the process died",
    "error": "the framework raised an error",
    "implausible": "refused: the time cannot be true, for the reason given with the case",
    "check_failed": "refused: not the network of the oracle, or not the frames of the recordings",
}
KINDS = {
    **dict.fromkeys(STATUSES, "refused"),
    **dict.fromkeys(RETRIED, "failed"),
    **dict.fromkeys(RESULTS, "limit"),
    **{"unsupported": "not-run", "pruned": "not-run", "ok": "ok"},
}
"""Colour classes of statuses."""
REFUSED = ("check_failed", "implausible")
"""Statuses of wrong networks or times; their figures are not shown."""
UNRANKED = "ok, not ranked"
OWN_NEURON = "the framework's own neuron, which no other computes"
FLAGS = {
    "few_blocks": ("few blocks", "fewer than 3 blocks counted: their spread is hardly known"),
    "disturbed": (
        "disturbed",
        "more than 20 % of the timed slots were disturbed; the others count if they are enough",
    ),
    "preempted": ("preempted", "for more than 5 % of the time another process had the core"),
    "drift": (
        "drift",
        "the time changed by more than 5 % within a block, as did the times beside it",
    ),
    "shared_cpu": ("shared CPU", "other programs used more than a quarter of a core meanwhile"),
    "throttled": ("throttled", "the GPU was throttled meanwhile, by heat or its power limit"),
    "unsteady": (
        "unsteady machine",
        "the canary, a constant task, changed its time by more than 8 % meanwhile",
    ),
    "not_compiled": (
        "not compiled",
        "the kernel was not compiled, so its spelling in torch was timed; snnbench doctor says why",
    ),
    "phases_disagree": (
        "phases disagree",
        (
            "a step took surely less than its own forward or backward: the machine changed, or a "
            "whole step compiles better"
        ),
    ),
    "interrupted": (
        "interrupted",
        "a later block was interrupted and does not count; the same command resumes it",
    ),
}
"""A short and a long text for each flag of `Row.quality`."""


def reason_of(row: Row) -> str:
    """Returns why a row has no figures, empty if it has."""
    if row.reason or row.sound:
        return row.reason or ""
    if row.status != "ok":
        return MEANINGS[row.status]
    if not row.proved:
        return "the records hold no proof, so the times are withheld"
    if row.first.measure.get("timed", True):
        return f"there is no {row.ranked} time"
    return "proved and weighed, as asked, and not timed"


def kind_of(row: Row) -> str:
    """Returns the colour class of a row's status; `ok` is green only if the row is ranked."""
    return "limit" if row.status == "ok" and not row.rankable else KINDS[row.status]


def rank_of(row: Row) -> str:
    """Returns a row's ranks, `2` or `1–3`, with `=` if it ties with the best; empty if unranked."""
    if row.standing is None:
        return ""
    best, worst = row.standing.best, row.standing.worst
    return "=" * row.standing.tied + (f"{best}–{worst}" if best < worst else str(best))


def remarks_on(row: Row) -> str:
    """Returns the flags of a row with a time in short words, and its share of disturbed slots."""
    if not row.sound:
        return ""
    share = row.disturbed_share or 0.0
    words = [FLAGS[flag][0] for flag in row.quality if flag != "disturbed"]
    return ", ".join(
        words + ([row.unclean] if row.unclean else [f"{share:.0%} disturbed"] * (share >= 0.01))
    )


def version_runs(words: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Returns runs of neighbouring versions with the same word, from (word, version)."""
    runs = groupby(words, key=itemgetter(0))
    return [(word, [version for _, version in run]) for word, run in runs]


def runs_text(runs: Sequence[tuple[str, list[str]]]) -> str:
    """Returns two or more runs of versions, the oldest first, in one line.

    >>> runs_text([("rejected", ["0.6.4", "0.7.0"]), ("proved", ["0.8.1", "1.0.0"])])
    'rejected ≤ 0.7.0, proved ≥ 0.8.1'
    """
    (first, oldest), *middle, (last, newest) = runs
    texts = [f"{word} in {'–'.join(dict.fromkeys((run[0], run[-1])))}" for word, run in middle]
    return ", ".join([f"{first} ≤ {oldest[-1] or 'unknown'}", *texts, f"{last} ≥ {newest[0]}"])
