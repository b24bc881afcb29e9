"""`snnbench env`: the standard environment, and those of frameworks that conflict with others."""

import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..common import units
from ..environments.create import create as make
from ..environments.create import damage
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
    help="Environments of frameworks: the standard one, and those of frameworks that conflict.",
)

NAMES_HELP = "As `snnbench env list` names them, or a version of a framework, snntorch@0.9.4."
Names = Annotated[list[str], typer.Argument(help=NAMES_HELP, show_default=False)]


@env.command("list")
def list_(as_json: Json = False) -> None:
    """List every environment: the frameworks it serves, its state, and its folder."""
    states = [(environment, *environment.state()) for environment in _all()]
    if as_json:
        print_json([_entry(*state) for state in states])
        return
    table = new_table("environment", "for", "state", "what it is", whole=("environment",))
    for environment, _, _ in states:
        recipe = environment.recipe
        adapters = ", ".join(recipe.adapters)
        table.add_row(environment.name, adapters, environment.shown_state, recipe.description)
    output().print(table)
    for environment, _, reason in states:
        if reason:
            line = escape(f"{environment.name}: {reason}")
            output().print(f"  [dim]{line}[/]", soft_wrap=True)
    output().print(f"in {environments_folder()}", soft_wrap=True)


def _all() -> list[Environment]:
    """Returns the environments of all recipes, and the versions that were made."""
    return [*known().values(), *made_versions()]


def _entry(environment: Environment, state: str, reason: str | None) -> dict[str, Any]:
    recipe = environment.recipe
    return {
        "name": environment.name,
        "state": state,
        "reason": reason,
        "folder": str(environment.folder),
        "adapters": recipe.adapters,
        "description": recipe.description,
        "pins": [str(pin) for pin in recipe.pins],
    }


@env.command()
def create(
    names: Names,
    here: Annotated[
        bool,
        typer.Option("--here", help="Install their packages into snnbench's own environment."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make, mend or update environments. Run it again to resume: finished steps are kept.

    `standard` has every framework that can be installed together with the others.
    """
    failed, entries = False, []
    for environment in [environment_named(name) for name in names]:
        try:
            create_shown(environment, here)
        except NotMade as error:
            say(str(error))
            failed = True
        entries.append(_entry(environment, *environment.state()))
    if as_json:
        print_json(entries)
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


def create_shown(environment: Environment, here: bool = False) -> None:
    """Makes an environment, or installs its packages here, and shows progress. Raises NotMade."""
    console, line, name = messages(), "", environment.name
    work = install_here(name, environment.recipe) if here else make(environment)
    try:
        with console.status(name) as status:
            for progress in work:
                line = f"{name} [{progress.number}/{progress.of}] {progress.step}"
                if progress.kind == "damaged":
                    console.print(escape(f"{name} is made anew: {progress.line}"), soft_wrap=True)
                elif progress.kind == "size":
                    console.print(escape(f"{line}: {progress.line}"), soft_wrap=True)
                elif progress.kind == "line":
                    status.update(escape(f"{line}: {progress.line}")[: console.width - 4])
                elif progress.kind == "step":
                    status.update(escape(line))
                else:
                    took = "kept" if progress.kind == "kept" else units.duration(progress.seconds)
                    console.print(escape(f"{line}: {took}"), soft_wrap=True)
    except KeyboardInterrupt:
        say(f"interrupted; what is finished is kept: {environment.command} resumes it")
        raise typer.Exit(exit_codes.INTERRUPTED) from None
    console.print(
        f"{name} is ready in {sys.prefix if here else environment.folder}", soft_wrap=True
    )


@env.command()
def doctor(
    names: Annotated[
        list[str] | None, typer.Argument(help="Environments.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that environments are intact: packages, files, Python, and their adapters' needs."""
    entries = []
    chosen = [environment_named(name) for name in names] if names else _all()
    for environment in chosen:
        state, reason = environment.state()
        faults = None if state == "not created" else damage(environment)
        entries.append({**_entry(environment, state, reason), "faults": faults})
        if not as_json:
            _print_faults(environment, faults)
    if as_json:
        print_json(entries)
    failed = any(entry["faults"] for entry in entries)
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


def _print_faults(environment: Environment, faults: list[str] | None) -> None:
    """Prints the faults of an environment; `faults` is None if it was not created."""
    console, name = output(), environment.name
    if faults is None:
        state = environment.shown_state
        advice = f": {environment.command}" if state == "not created" else ""
        console.print(f"{name}: {state}{advice}")
        return
    for fault in faults or ["intact"]:
        console.print(escape(f"{name}: {fault}"), soft_wrap=True)
    if faults:
        console.print(f"{name}: to mend it: {environment.command}", soft_wrap=True)


@env.command()
def remove(names: Names) -> None:
    """Delete environments."""
    for environment in [environment_named(name) for name in names]:
        removed = delete(environment)
        messages().print(f"{environment.name}: {'removed' if removed else 'was not there'}")
