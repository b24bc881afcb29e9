"""`snnbench env`: environments of frameworks, the standard one and those of frameworks that cannot live beside the others."""

import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..common import units
from ..environments.create import create as make
from ..environments.damage import damage
from ..environments.environment import Environment, NotMade, known
from ..environments.environment import remove as delete
from ..environments.install import install_here
from ..environments.recipes import environments_folder
from ..environments.versions import environment_named, made_versions
from . import exit_codes
from .console import messages, new_table, output, print_json, say
from .options import Json

env = typer.Typer(
    no_args_is_help=True,
    help="Environments of frameworks: the standard one, and of those that cannot live beside the others.",
)

NAMES_HELP = "As `snnbench env list` names them, or a version of a framework, snntorch@0.9.4."
Names = Annotated[list[str], typer.Argument(help=NAMES_HELP, show_default=False)]


@env.command("list")
def list_(as_json: Json = False) -> None:
    """Show every environment: whom it serves, whether it is there, and where."""
    states = [(own, *own.state()) for own in _all()]
    if as_json:
        print_json([_entry(own, state, reason) for own, state, reason in states])
        return
    table = new_table("environment", "for", "state", "what it is", whole=("environment",))
    for own, _, _ in states:
        table.add_row(
            own.name, ", ".join(own.recipe.adapters), own.shown_state, own.recipe.description
        )
    output().print(table)
    for own, _, reason in states:
        if reason:
            output().print(f"  [dim]{escape(f'{own.name}: {reason}')}[/]", soft_wrap=True)
    output().print(f"in {environments_folder()}", soft_wrap=True)


def _all() -> list[Environment]:
    """Those that there are recipes for, and the versions that were made."""
    return [*known().values(), *made_versions()]


def _entry(own: Environment, state: str, reason: str | None) -> dict[str, Any]:
    recipe, pins = own.recipe, [str(pin) for pin in own.recipe.pins]
    here = {"name": own.name, "state": state, "reason": reason, "folder": str(own.folder)}
    return {**here, "adapters": recipe.adapters, "description": recipe.description, "pins": pins}


@env.command()
def create(
    names: Names,
    here: Annotated[
        bool, typer.Option("--here", help="Install their packages beside snnbench itself instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make environments, mend damaged ones, or bring them up to date. Run it again to resume: finished steps are kept.

    `standard` has every framework that can live beside the others; uv makes it in seconds where there is uv, else pip.
    """
    failed, entries = False, []
    for own in [environment_named(name) for name in names]:
        try:
            create_shown(own, here)
        except NotMade as error:
            say(str(error))
            failed = True
        entries.append(_entry(own, *own.state()))
    if as_json:
        print_json(entries)
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


def create_shown(own: Environment, here: bool = False) -> None:
    """Make an environment, or install its packages beside snnbench itself, and show how far it is. Raises NotMade."""
    console, line = messages(), ""
    try:
        with console.status(own.name) as status:
            for progress in install_here(own.name, own.recipe) if here else make(own):
                line = f"{own.name} [{progress.number}/{progress.of}] {progress.step}"
                if progress.kind == "damaged":
                    console.print(
                        escape(f"{own.name} is made anew: {progress.line}"), soft_wrap=True
                    )
                elif progress.kind == "line":
                    status.update(escape(f"{line}: {progress.line}")[: console.width - 4])
                elif progress.kind == "step":
                    status.update(escape(line))
                else:
                    took = "kept" if progress.kind == "kept" else units.duration(progress.seconds)
                    console.print(escape(f"{line}: {took}"), soft_wrap=True)
    except KeyboardInterrupt:
        say(f"interrupted; what is finished is kept: {own.command} goes on from there")
        raise typer.Exit(exit_codes.INTERRUPTED) from None
    console.print(f"{own.name} is ready in {sys.prefix if here else own.folder}", soft_wrap=True)


@env.command()
def doctor(
    names: Annotated[
        list[str] | None, typer.Argument(help="Environments.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look whether environments are still as they were made: packages, files, Python, and what their adapters need."""
    chosen = [environment_named(name) for name in names] if names else _all()
    entries = []
    for own in chosen:
        state, reason = own.state()
        faults = None if state == "not created" else damage(own)
        entries.append({**_entry(own, state, reason), "faults": faults})
        if not as_json:
            _print_faults(own, faults)
    if as_json:
        print_json(entries)
    raise typer.Exit(
        exit_codes.FAILED if any(entry["faults"] for entry in entries) else exit_codes.FINE
    )


def _print_faults(own: Environment, faults: list[str] | None) -> None:
    """What is wrong with an environment; None where it was not created."""
    console = output()
    if faults is None:
        state = own.shown_state
        console.print(f"{own.name}: {state}{f': {own.command}' if state == 'not created' else ''}")
        return
    for fault in faults or ["as it was made"]:
        console.print(escape(f"{own.name}: {fault}"), soft_wrap=True)
    if faults:
        console.print(f"{own.name}: to mend it: {own.command}", soft_wrap=True)


@env.command()
def remove(names: Names) -> None:
    """Delete environments."""
    for own in [environment_named(name) for name in names]:
        was = delete(own)
        messages().print(f"{own.name}: {'removed' if was else 'was not there'}")
