"""`snnbench env`: environments of frameworks that cannot live beside the others."""

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from .. import units
from ..environments.create import create as make
from ..environments.damage import damage
from ..environments.environment import Environment, NotMade, known, named
from ..environments.environment import remove as delete
from ..environments.recipes import environments_folder
from . import exit_codes
from .console import messages, output
from .options import Json

env = typer.Typer(no_args_is_help=True, help="Environments of frameworks that cannot live beside the others.")

Names = Annotated[list[str], typer.Argument(help="Environments, as `snnbench env list` names them.", show_default=False)]


@env.command("list")
def list_(as_json: Json = False) -> None:
    """Show every environment: whom it serves, whether it is there, and where."""
    all_known = known().values()
    if as_json:
        entries = []
        for own in all_known:
            state, why = own.state()
            entry = {"name": own.name, "state": state, "reason": why, "folder": str(own.folder), "adapters": own.recipe.adapters}
            pins = [str(pin) for pin in own.recipe.pins]
            entries.append({**entry, "description": own.recipe.description, "pins": pins})
        print(json.dumps(entries, indent=1))
        return
    table = Table(box=SIMPLE_HEAD)
    for name in ("environment", "for", "state", "what it is"):
        table.add_column(name, no_wrap=name == "environment")
    reasons = []
    for own in all_known:
        state, why = own.state()
        table.add_row(own.name, ", ".join(own.recipe.adapters), state, own.recipe.description)
        reasons += [f"{own.name}: {why}"] if why else []
    output().print(table)
    for reason in reasons:
        output().print(f"  [dim]{escape(reason)}[/]", soft_wrap=True)
    output().print(f"in {environments_folder()}", soft_wrap=True)


@env.command()
def create(names: Names) -> None:
    """Make environments, mend damaged ones, or bring them up to date. Run it again to resume: finished steps are kept."""
    failed = False
    for own in [named(name) for name in names]:
        try:
            _create(own)
        except NotMade as error:
            messages().print(escape(f"snnbench: {error}"), soft_wrap=True)
            failed = True
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


def _create(own: Environment) -> None:
    console, line = messages(), ""
    try:
        with console.status(own.name) as status:
            for progress in make(own):
                line = f"{own.name} [{progress.number}/{progress.of}] {progress.step}"
                if progress.kind == "damaged":
                    console.print(escape(f"{own.name} is made anew: {progress.line}"), soft_wrap=True)
                elif progress.kind == "line":
                    status.update(escape(f"{line}: {progress.line}")[: console.width - 4])
                elif progress.kind == "step":
                    status.update(escape(line))
                else:
                    took = "kept" if progress.kind == "kept" else units.duration(progress.seconds)
                    console.print(escape(f"{line}: {took}"), soft_wrap=True)
    except KeyboardInterrupt:
        console.print(f"snnbench: interrupted; what is finished is kept: {own.command} goes on from there")
        raise typer.Exit(exit_codes.INTERRUPTED) from None
    console.print(f"{own.name} is ready in {own.folder}", soft_wrap=True)


@env.command()
def doctor(names: Annotated[list[str] | None, typer.Argument(help="Environments [default: all].")] = None) -> None:
    """Look whether environments are still as they were made: packages, files, Python, and what their adapters need."""
    failed, console = False, output()
    for own in [named(name) for name in names] if names else known().values():
        if own.state()[0] == "not created":
            console.print(f"{own.name}: not created: {own.command}")
            continue
        found = damage(own)
        failed = failed or bool(found)
        for fault in found or ["as it was made"]:
            console.print(escape(f"{own.name}: {fault}"), soft_wrap=True)
        if found:
            console.print(f"{own.name}: to mend it: {own.command}", soft_wrap=True)
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


@env.command()
def remove(names: Names) -> None:
    """Delete environments."""
    for own in [named(name) for name in names]:
        was = delete(own)
        messages().print(f"{own.name}: {'removed' if was else 'was not there'}")
