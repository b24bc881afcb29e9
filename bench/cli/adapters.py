"""`snnbench adapters`: who is here and what they can spell."""

import json

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from .. import survey
from .console import output
from .options import Adapters, Json, adapter_files


def adapters(adapter: Adapters = [], as_json: Json = False) -> None:
    """List every adapter: version, environment, devices, variants, and which neurons it can spell, or why not."""
    environment = survey.survey_environment()
    found = survey.survey_adapters(adapter_files(adapter), environment)
    if as_json:
        hidden = ("refusals", "environment", "home")
        entries = [
            {**{key: value for key, value in entry.items() if key not in hidden}, "environment": entry["home"]}
            for entry in found.values()
        ]
        print(json.dumps({"environment": environment["name"], "devices": environment["devices"], "adapters": entries}, indent=1))
        return
    neurons = next(iter(found.values()))["neurons"]
    table = Table(box=SIMPLE_HEAD)
    for name in ("framework", "version", "environment", "devices", "constructions", "modes", *neurons):
        table.add_column(name, no_wrap=name in ("framework", "version"))
    reasons = []
    for entry in found.values():
        problem = entry["lacking"] or entry.get("error")
        devices = ", ".join(device for device in entry["devices"] if device in environment["devices"])
        cells = ["✓" if reason is None else "–" for reason in entry["neurons"].values()] if not problem else ["" for _ in neurons]
        words = [", ".join(entry[key]) for key in ("constructions", "modes")]
        where = f"{entry['home']} (lacking)" if entry["lacking"] else "cannot be asked" if problem else entry["home"]
        table.add_row(entry["name"], entry["version"] or "", where, devices, *words, *cells)
        reasons += [f"{entry['name']}: {problem}"] if problem else []
        reasons += [f"{entry['name']}, {name}: {reason}" for name, reason in entry["neurons"].items() if reason and not problem]
    console = output()
    console.print(table)
    console.print("A variant is a construction and a mode, written norse:stepwise+compile; the first of each is the default.")
    for reason in reasons:
        console.print(f"  [dim]{escape(reason)}[/]", soft_wrap=True)
