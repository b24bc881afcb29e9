"""`snnbench adapters`: who is here and what they can spell."""

import json

from rich.markup import escape

from snnbench.kernels.spec import NEURONS

from ..environments.inventory import survey_adapters, survey_environment
from ..run import variants
from ..run.planning import adapter_files
from .console import output
from .options import Adapters, Json


def adapters(adapter: Adapters = [], as_json: Json = False) -> None:
    """List every variant of every adapter: version, environment, and the neurons it is ready for, or what it lacks."""
    environment = survey_environment()
    found = survey_adapters(adapter_files(adapter), environment)
    listed = variants.survey_variants(found, environment["devices"])
    if as_json:
        hidden = ("refusals", "environment", "home")
        entries = [
            {**{key: value for key, value in entry.items() if key not in hidden}, "environment": entry["home"]}
            for entry in found.values()
        ]
        document = {"environment": environment["name"], "devices": environment["devices"], "adapters": entries}
        print(json.dumps(document | {"variants": [variant.as_dict() for variant in listed]}, indent=1))
        return
    console = output()

    def line(text: str) -> None:
        console.print(text, soft_wrap=True)  # one line each, however long: for grep

    for entry in found.values():
        mine = [variant for variant in listed if variant.framework == entry["name"]]
        line(f"[bold]{escape(entry['name'])}[/] {entry['version'] or ''} [dim]environment {entry['home']}[/]")
        if "error" in entry and not entry["lacking"]:
            line(f"  [red]{escape(entry['error'])}[/]")
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
