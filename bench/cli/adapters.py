"""`snnbench adapters`: who is here and what they can spell."""

from rich.markup import escape

from snnbench.kernels.spec import NEURONS

from ..environments.inventory import take_inventory
from ..run import variants
from ..run.planning import adapter_files
from .console import output, print_json
from .options import Adapters, Json


def adapters(adapter: Adapters = [], as_json: Json = False) -> None:
    """List every variant of every adapter: version, environment, and the neurons it is ready for, or what it lacks."""
    inventory = take_inventory(adapter_files(adapter), variants.inquiry())
    listed = variants.survey_variants(inventory)
    if as_json:
        here = {"environment": inventory.default.name, "devices": inventory.default.devices}
        known = [info.as_dict() for info in inventory.adapters.values()]
        print_json({**here, "adapters": known, "variants": [variant.as_dict() for variant in listed]})
        return
    console = output()

    def line(text: str) -> None:
        console.print(text, soft_wrap=True)  # one line each, however long: for grep

    for info in inventory.adapters.values():
        mine = [variant for variant in listed if variant.framework == info.name]
        line(f"[bold]{escape(info.name)}[/] {info.version or ''} [dim]environment {info.home}[/]")
        if info.error and not info.lacking:
            line(f"  [red]{escape(info.error)}[/]")
        width = max((len(variant.name) for variant in mine), default=0)
        for variant in mine:
            state = f"[green]ready[/] {escape(', '.join(variant.neurons))}"
            line(f"  {variant.name:<{width}}  {state if variant.lacks is None else f'[dim]{escape(variant.lacks)}[/]'}")
        for names, reason in _refusals(mine):
            line(f"  [dim]no {escape(names)}: {escape(reason)}[/]")
        line("")
    ready = sum(variant.lacks is None for variant in listed)
    line(f"{len(listed)} variants, {ready} of them ready. A variant is a construction and a mode.")


def _refusals(mine: list[variants.Variant]) -> list[tuple[str, str]]:
    """Why variants that are ready for some neuron have not all the named ones: (neurons, reason), each reason once."""
    by_reason: dict[str, dict[str, None]] = {}
    for variant in mine:
        if variant.lacks is None:
            for name in NEURONS:
                if reason := variant.refusals[name]:
                    by_reason.setdefault(reason, {})[name] = None
    return [(", ".join(names), reason) for reason, names in by_reason.items()]
