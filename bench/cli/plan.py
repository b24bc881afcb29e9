"""`snnbench plan`: the cases, which are done, an estimate. Runs nothing."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..common import units
from ..core.case import Case, sizes, unusual
from ..experiment.setting import parse_setting
from ..machine.cores import usable_cores
from ..machine.facts import busy_warning, machine_facts
from ..machine.monitor import load_average
from ..runner.done import Done, Remaining, reasons
from ..runner.planning import Where, load_plan
from . import exit_codes, options
from .console import UNLIMITED, new_table, output, print_json, say

STATE_WIDTH = 16
"""Characters of a state that every terminal has room for."""


def plan(
    config: options.Config,
    out: options.Out = None,
    settings: options.Settings = [],
    only: options.Only = "",
    adapter: options.Adapters = [],
    executor: options.ExecutorOption = Where.LOCAL,
    shard: options.ShardOption = "1/1",
    as_json: options.Json = False,
) -> None:
    """List the cases of an experiment, which of them are done, and an estimate of the time. Runs
    and writes nothing."""
    plan = load_plan(config, [*map(parse_setting, settings)], only, adapter, executor, shard)
    options.tell_neurons(plan.experiment.neuron_lines)
    options.tell_left_out(plan.left_out)
    options.tell_controls(plan.controls)
    measure, folder = plan.experiment.measure, plan.folder(out)
    folder.must_be_of(plan.experiment.name)
    done = Done(folder, measure, machine_facts())
    cases = done.remaining(plan.mine)
    seconds = sum(left.seconds for left in cases)
    refused = folder.read_records()[1]
    for sentence in refused:
        say(sentence)
    if as_json:
        facts = {"name": plan.experiment.name, "out": str(folder), "estimate_s": seconds}
        print_json({**facts, "cases": [_entry(left) for left in cases]})
        raise typer.Exit(exit_codes.with_refused(exit_codes.FINE, refused))
    console = output()
    common, tables = _tables(cases, console)
    if common:
        console.print(f"all: {common}", soft_wrap=True, markup=False)
    for title, table in tables:
        if title:
            console.print(f"[bold]{escape(title)}[/]")
        console.print(table)
    for sentence in reasons(cases):
        console.print(sentence, soft_wrap=True, markup=False)
    blocks = units.counted(measure.planned_blocks, "block") + (
        f" to {measure.most_blocks}" if measure.may_have_further_blocks else ""
    )
    fewest = ", for the fewest" if measure.may_have_further_blocks else ""
    estimated = f"about {units.duration(seconds)} (an estimate{fewest})"
    console.print(f"{units.counted(len(cases), 'case')}, {blocks}, {estimated}, into {folder}")
    load, cores = load_average(), len(usable_cores())
    for sentence in busy_warning(load, cores):
        longer = units.duration(seconds * load / cores)
        say(f"{sentence}; the estimate is for a quiet one, and at this load it may be {longer}")
    raise typer.Exit(exit_codes.with_refused(exit_codes.FINE, refused))


def _tables(cases: Sequence[Remaining], console: Console) -> tuple[str, list[tuple[str, Table]]]:
    """Returns what all cases have in common, empty for a single one, and a table of the rest. A
    console that is too narrow for its columns gets a table of frameworks and states for each
    network, with the network as its title."""
    columns: dict[str, list[list[str]]] = {}
    for left in cases:
        for axis, words in _axes(left.planned.case).items():
            columns.setdefault(axis, []).append(words)
    several, common = len(cases) > 1, []
    for axis, cells in columns.items():
        shared = [word for word in cells[0] if several and all(word in cell for cell in cells)]
        common += shared
        columns[axis] = [[word for word in cell if word not in shared] for cell in cells]
    columns = {axis: cells for axis, cells in columns.items() if any(cells)}
    names = [left.planned.case.framework_variant for left in cases]
    texts = [[" ".join(cell) for cell in cells] for cells in columns.values()]
    wide = _with_states(["framework", *columns], [names, *texts], cases)
    unlimited = console.options.update(width=UNLIMITED)
    if console.measure(wide, options=unlimited).minimum <= console.width:
        return " · ".join(common), [("", wide)]
    titles = [" · ".join(filter(None, (cells[at] for cells in texts))) for at in range(len(cases))]
    return " · ".join(common), [*_by_title(titles, names, cases, console.width)]


def _by_title(
    titles: Sequence[str], names: Sequence[str], cases: Sequence[Remaining], width: int
) -> Iterator[tuple[str, Table]]:
    """Yields each title with a table of the successive cases that have it."""
    for title, members in groupby(range(len(cases)), key=titles.__getitem__):
        chosen = [*members]
        frameworks = [names[at] for at in chosen]
        table = _with_states(["framework"], [frameworks], [cases[at] for at in chosen])
        table.columns[0].min_width = min(max(map(len, names)), width // 2)
        yield title, table


def _with_states(heads: list[str], columns: list[list[str]], cases: Sequence[Remaining]) -> Table:
    table = new_table(*heads, whole=heads[:1] if heads[1:] else ())
    table.columns[0].overflow = "fold"
    table.add_column("state", min_width=STATE_WIDTH)
    for left, *texts in zip(cases, *columns, strict=True):
        reason = left.planned.reason
        blocks = f", {units.counted(left.blocks, 'block')}" if left.blocks else ""
        state = left.state + (f": {reason}" if reason else blocks)
        table.add_row(*map(escape, [*texts, state]))
    return table


def _axes(case: Case) -> dict[str, list[str]]:
    """Returns the axes of a case in words."""
    return {
        "neuron": [case.neuron_label] if case.neuron_label else [],
        "workload": [case.network or case.workload],
        "sizes": f"{sizes(case)} {unusual(case)}".split(),
        "precision": [case.precision],
        "device": [case.device],
    }


def _entry(left: Remaining) -> dict[str, Any]:
    planned = left.planned
    state = {
        "state": left.state,
        "reason": planned.reason,
        "blocks_left": left.blocks,
        "again": list(left.again),
    }
    return {"case_id": planned.id, "case": planned.case.as_dict(), **state}
