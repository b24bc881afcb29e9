"""Collects the verbs into one command."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..texts import SHOWN, clean, cut
from . import adapters, check, compare, data, doctor, env, exit_codes, init, merge, plan, profile, report, run
from .console import say


class _Group(TyperGroup):
    """What the parser says of mistakes is harmless and short, as what we say. Ctrl-C is told."""

    def make_context(self, *arguments: Any, **values: Any) -> Any:
        with _short():
            return super().make_context(*arguments, **values)

    def invoke(self, ctx: Any) -> Any:
        with _short():
            return super().invoke(ctx)


@contextmanager
def _short() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = cut(clean(message), *SHOWN)  # type: ignore[attr-defined]
        raise
    except KeyboardInterrupt:  # typer turns it into a silent exit
        say("interrupted; what was finished is kept")
        raise typer.Exit(exit_codes.INTERRUPTED) from None


app = typer.Typer(
    name="snnbench",
    cls=_Group,
    help="Proves that spiking-neural-network frameworks compute the same network, then measures which is fastest and leanest.",
    epilog="Exit codes: 0 fine, 1 internal error, 2 usage or config, 3 a case failed, 4 proof failed or implausible time, "
    "5 worse than the baseline, 6 nothing measured or comparable, 7 ambiguous or unsure, 130 interrupted. "
    "Start with: snnbench init, then snnbench run --config experiment.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"snnbench {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Proved, then measured."""


VERBS = (
    *(run.run, plan.plan, check.check, profile.profile, adapters.adapters, doctor.doctor, report.report, merge.merge),
    *(compare.compare, init.init),
)
for verb in VERBS:
    app.command()(verb)
app.add_typer(env.env, name="env")
app.add_typer(data.data, name="data")
