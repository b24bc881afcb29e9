"""`snnbench quick`: which framework is the fastest for one network, in a few sentences."""

import shlex
from collections.abc import Iterator
from string import ascii_letters
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..experiment.measure import Measure
from ..experiment.setting import Option
from ..experiment.values import parse_duration
from ..records.ranking import blocks_to_decide_ranks
from ..records.rows import Row
from ..report.answer import answer, verdict
from ..report.table import Table
from ..runner.nearest import nearest_in_words
from ..runner.planning import QUICK, adapter_files, quick_plan
from ..runner.progress import execute_shown
from ..runner.quick import (
    BLOCKS,
    budget_of,
    network_axes,
    requested_rows,
    without_record,
)
from ..workloads.layers import linear_lif
from . import exit_codes
from .console import RARER, messages, output, say
from .options import (
    NEURON_HELP,
    WORKLOAD_HELP,
    Adapters,
    Axes,
    Fresh,
    Json,
    Names,
    Out,
    Size,
    axis_settings,
    option_settings,
    parse_seconds,
    tell_left_out,
    tell_neurons,
)
from .results import finished, print_results

HOPEFUL = "1m"
"""The least value of `--within` that a command names after one in which nothing was measured."""


def quick(
    names: Names = None,
    neurons: Size = 256,
    time_steps: Size = 50,
    batch: Size = 16,
    layers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Linear maps.", show_default="1, and 3 with --inputs or --outputs"
        ),
    ] = None,
    inputs: Annotated[
        int | None,
        typer.Option(min=1, help="Values of a time step, as 700 in 700 → 256 → 256 → 20."),
    ] = None,
    outputs: Annotated[
        int | None, typer.Option(min=1, help="Neurons of the last layer, as 20 there.")
    ] = None,
    workload: Annotated[
        str, typer.Option(help=WORKLOAD_HELP, show_default="linear-lif, or mlp")
    ] = "",
    axes: Axes = [],
    neuron: Annotated[str, typer.Option(help=NEURON_HELP)] = "soft",
    precision: Annotated[str, typer.Option(help="fp32, tf32, bf16, fp16 or amp-bf16.")] = "fp32",
    device: Annotated[
        str, typer.Option(help="cpu, cuda or cuda:0.", show_default="the GPU if there is one")
    ] = "",
    threads: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=4096,
            help="Cores of every framework; 0: all.",
            show_default="1 on a CPU, all beside a GPU",
        ),
    ] = None,
    blocks: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            help="Sets of fresh processes; more are more certain.",
            rich_help_panel=RARER,
        ),
    ] = BLOCKS,
    timeout: Annotated[
        str,
        typer.Option(
            help="For all that a framework computes in a block; another one measures anew.",
            show_default="2m",
            rich_help_panel=RARER,
        ),
    ] = "",
    within: Annotated[
        str,
        typer.Option(
            help="Keep to this time, such as 5m, by fewer frameworks, passes and blocks.",
            show_default="no limit",
        ),
    ] = "",
    inference: Annotated[
        bool, typer.Option("--inference", help="Time inference in place of training steps.")
    ] = False,
    fresh: Fresh = False,
    out: Out = None,
    adapter: Adapters = [],
    as_json: Json = False,
) -> None:
    """Say which framework trains one network fastest, by how much, with what memory, and how sure
    that is.

    With --inference it says which computes one fastest. Every framework is proved first. One that
    takes twice as long as the fastest in most passes so far is stopped early. The same command with
    more blocks goes on from there. A timeout stays until --timeout or --fresh measures the
    framework again.
    """
    budget = budget_of(parse_seconds("--within", within) if within else None)
    network = network_axes(workload, layers, {"inputs": inputs, "outputs": outputs})
    sizes = {"neurons": neurons, "time_steps": time_steps, "batch": batch}
    chosen = {"precision": precision, **sizes, **network}
    chosen |= {"device": device} if device else {}
    given = axis_settings(axes, option_settings([neuron], **chosen))
    given += [Option("grid.framework", names, "argument")] if names else []
    given += [Option("measure.timeout", timeout, "--timeout")] if timeout else []
    given += [Option("measure.threads", threads, "--threads")] if threads is not None else []
    plan = quick_plan(given, adapter, blocks, "inference" if inference else "step")
    tell_neurons(plan.experiment.neuron_lines)
    tell_left_out(plan.left_out)
    hints = nearest_in_words(plan.mine, adapter_files(adapter))
    for sentence in hints:
        say(sentence)
    folder = plan.folder(out)
    interrupted = execute_shown(plan, folder, fresh, messages(), budget)
    results = finished(folder, plan.experiment.name)
    mine = requested_rows(plan, folder)
    sentences, not_measured = answer(mine), without_record(plan, mine)
    if not interrupted:
        words = [*(names or []), *_options({"neuron": neuron, **chosen})]
        words += [word for text in axes for word in ("--set", text)]
        words += ["--threads", str(threads)] if threads is not None else []
        words += ["--inference"] if inference else []
        words += [word for reference in adapter for word in ("--adapter", reference)] + (
            ["--out", str(out)] if out else []
        )
        if not_measured:
            sentences.append(f"Left out for lack of time ({within}): {', '.join(not_measured)}.")
        sentences += hints * as_json  # a text begins with them
        sentences += _what_next(mine, not_measured, words, blocks, timeout, within)
    print_results(
        Table(mine),
        results,
        folder,
        as_json,
        interrupted=interrupted,
        left_out=plan.left_out,
        answer=sentences,
        verdict=verdict(mine),
        not_measured=not_measured,
    )
    if not as_json:
        for sentence in sentences:
            output().print(escape(sentence), soft_wrap=True)
    if interrupted:
        say("interrupted; what is finished is kept, and the same command goes on from there")
        raise typer.Exit(exit_codes.INTERRUPTED)
    raise typer.Exit(exit_codes.with_refused(exit_codes.of_rows(mine), results.unreadable))


def _what_next(
    rows: list[Row],
    not_measured: list[str],
    words: list[str],
    blocks: int,
    timeout: str,
    within: str,
) -> Iterator[str]:
    """Yields sentences with commands that show more.

    `words` are the arguments of this command without blocks, timeout and `within`.
    """

    def command(blocks: int, timeout: str, within: str) -> str:
        more = ["--blocks", str(blocks)] * (blocks != BLOCKS)
        for option, value in (("--timeout", timeout), ("--within", within)):
            more += [option, value] * bool(value)
        return shlex.join(["snnbench", "quick", *words, *more])

    late = [row.case.framework_variant for row in rows if row.status == "timeout"]
    if late or not_measured:
        longer = _twice(timeout or str(QUICK["timeout"])) if late else timeout
        limit = _twice(within) if within else ""
        hopeless = not any(row.standing for row in rows)
        if limit and hopeless and parse_duration(limit) < parse_duration(HOPEFUL):
            limit = HOPEFUL
        yield (
            f"To give {', '.join([*late, *not_measured])} more time: "
            f"{command(blocks, longer, limit)}"
        )
    if any(row.standing for row in rows):
        records = [record for row in rows for record in row.records]
        wanted = blocks_to_decide_ranks(records, blocks, Measure().most_blocks)
        why = "more certainty" if wanted else "narrower intervals"
        next_command = command(wanted or 2 * blocks, timeout, within)
        yield f"For {why}, also on a machine that is less busy: {next_command}"


def _twice(duration: str) -> str:
    """Returns twice a duration in its own unit: `6m` of `3m`."""
    number = duration.strip().rstrip(ascii_letters)
    return f"{2 * float(number):g}{duration.strip().removeprefix(number)}"


def _options(chosen: dict[str, Any]) -> list[str]:
    """Returns the options that describe the network."""
    usual = {"neuron": "soft", "precision": "fp32", "workload": linear_lif.name}
    named = [(name, value) for name, value in chosen.items() if value != usual.get(name)]
    return [word for name, value in named for word in (f"--{name.replace('_', '-')}", str(value))]
