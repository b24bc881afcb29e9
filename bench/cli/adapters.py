"""`snnbench adapters`: the adapters and their variants."""

from typing import Annotated

import typer
from rich.markup import escape

from snnbench.kernels.spec import NEURONS

from ..common.mistakes import ConfigError
from ..common.units import counted
from ..core.variant import parse_variants
from ..environments.inventory import take_inventory
from ..environments.versions import versions_among
from ..experiment.grid import others
from ..records.rows import grouped
from ..runner import variants
from ..runner.planning import adapter_files
from .console import output, print_json
from .options import Adapters, Json


def adapters(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Adapters to list with their variants.", show_default=False),
    ] = None,
    adapter: Adapters = [],
    ready: Annotated[
        bool, typer.Option("--ready", help="Only variants that can be run here.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the adapters in one line each: version, how many constructions and modes, or why it is
    not here. For those that are named, list the variants that are ready with their neurons, and
    each reason why others are not; --json lists every variant."""
    versions = versions_among(parse_variants(names or ()))
    inventory = take_inventory(adapter_files(adapter), variants.inquiry(), versions=versions)
    for name in names or ():
        if name not in inventory.adapters:
            raise ConfigError(f"no adapter {name!r}{others(name, inventory.adapters)}")
    listed = [
        variant
        for variant in variants.survey_variants(inventory)
        if (not names or variant.adapter in names) and not (ready and variant.lacks)
    ]
    remaining = (
        {variant.adapter for variant in listed}
        if ready
        else {*names}
        if names
        else {*inventory.adapters}
    )
    shown = [info for info in inventory.adapters.values() if info.name in remaining]
    if as_json:
        here = {"environment": inventory.default.name, "devices": inventory.default.devices}
        known = [info.as_dict() for info in shown]
        print_json(
            {**here, "adapters": known, "variants": [variant.as_dict() for variant in listed]}
        )
        return
    console = output()

    def line(text: str) -> None:
        console.print(text, soft_wrap=True)  # one line each, however long: for grep

    if not names:
        width = max((len(info.name) for info in shown), default=0)
        for info in shown:
            constructions = counted(len(info.constructions), "construction")
            counts = f"{constructions}, {counted(len(info.modes), 'mode')}"
            lacks = {variant.lacks: None for variant in listed if variant.adapter == info.name}
            absent = info.lacking or info.error or (None not in lacks and next(iter(lacks), None))
            state = f"[dim]{escape(' '.join(absent.split()))}[/]" if absent else counts
            line(f"[bold]{escape(f'{info.name:<{width}}')}[/]  {info.version or '–':<12} {state}")
        line("snnbench adapters NAME lists the variants of an adapter.")
        return
    for info in shown:
        mine = [variant for variant in listed if variant.adapter == info.name]
        where = f"[dim]environment {info.environment}[/]"
        line(f"[bold]{escape(info.name)}[/] {info.version or '–'} {where}")
        if info.error and not info.lacking:
            line(f"  [red]{escape(info.error)}[/]")
        if info.loads_data:
            strategies = ", ".join(f"{info.name}:{each}" for each in info.constructions)
            line(f"  strategies of the workload data: {strategies}")
        able = [variant for variant in mine if variant.lacks is None]
        width = max((len(variant.name) for variant in able), default=0)
        for variant in able:
            neurons = escape(", ".join(variant.neurons))
            line(f"  {variant.name:<{width}}  [green]ready[/] {neurons}")
        for neurons, reason in _refusals(able):
            line(f"  [dim]no {escape(neurons)}: {escape(reason)}[/]")
        for named, reason in _lacking(mine):
            line(f"  [dim]{escape(named)}: {escape(reason)}[/]")
        line("")
    count = sum(variant.lacks is None for variant in listed)
    if listed:
        line(
            f"{len(listed)} variants, {count} of them ready. A variant is a construction and a "
            "mode; --json lists all."
        )


def _refusals(able: list[variants.SurveyedVariant]) -> list[tuple[str, str]]:
    """Returns (neurons, reason) for each reason for which ready variants refuse named neurons."""
    by_reason: dict[str, dict[str, None]] = {}
    for variant in able:
        for name in NEURONS:
            if reason := variant.refusals[name]:
                by_reason.setdefault(reason, {})[name] = None
    return [(", ".join(names), reason) for reason, names in by_reason.items()]


def _lacking(mine: list[variants.SurveyedVariant]) -> list[tuple[str, str]]:
    """Returns (variants, reason) for each reason for which variants refuse every neuron; the first
    of them is named, the others are counted."""
    lacking = grouped((variant for variant in mine if variant.lacks), lambda one: str(one.lacks))
    return [
        (same[0].name + f" and {len(same) - 1} more" * (len(same) > 1), reason)
        for reason, same in lacking.items()
    ]
