"""Collects the verbs into one command; a verb is imported only when it is called."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from ..common import __version__
from ..common.mistakes import ConfigError
from . import exit_codes
from .console import RARER, say

WORDS = {
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
}
"""Words of the parser, and plain ones."""
VERBS = {
    "quick": "Say which framework trains one network fastest, by how much, with what memory, and "
    "how sure that is.",
    "init": "Write a commented config to start from.",
    "run": "Prove and measure every case of an experiment. Run it again to resume: what is done "
    "stays done.",
    "plan": "List the cases of an experiment, which of them are done, and an estimate of the time. "
    "Runs and writes nothing.",
    "check": "Prove that frameworks compute the same network as the float64 oracle, without timing "
    "anything.",
    "examine": "Say which equation each neuron of your own torch model computes, and what is wrong "
    "with the model.",
    "same": "Say whether two torch models compute the same spikes and gradients from the same "
    "parameters, and where the first difference is.",
    "report": "Print the tables of one or more result folders; as a table, write results.csv and "
    "report.html anew.",
    "compare": "Compare statuses, proofs, memory and the times of all phases, case by case.",
    "adapters": "List the adapters in one line each: version, how many constructions and modes, or "
    "why it is not here.",
    "env": "Environments of frameworks: the standard one, and those of frameworks that conflict.",
    "doctor": "Show the machine, its devices, its load, and with --calibrate the measured "
    "ceilings.",
    "profile": "Take a training step apart: its time by stage and its memory by kind, and a trace "
    "that ui.perfetto.dev opens.",
    "merge": "Put the records of several result folders into one, and report on them.",
    "bundle": "Write the results of a folder as one text file that others can verify and show.",
    "verify": "Recompute what bundles claim: ids, hashes, versions, proofs, statuses, statistics, "
    "ranks, floors, impossible times.",
    "site": "Make a static site that answers which framework is fastest on which machine. It needs "
    "no server and asks for nothing.",
    "badge": "Write a badge with the number of proved neurons of a framework or an adapter.",
}
"""The verbs and the first sentence of their help. Each is the function or group of its name in its
module."""

RARE = ("profile", "merge", "bundle", "verify", "site", "badge")
"""Verbs that few people need."""


def load_verb(arguments: Sequence[str]) -> None:
    """Imports the verb of a command line, if it has one."""
    if name := next((word for word in arguments if word in VERBS), None):
        _verb(name)


@cache
def _verb(name: str) -> Any:
    """Returns the command of a verb."""
    function = getattr(import_module(f".{name}", __package__), name)
    if isinstance(function, typer.Typer):
        group = get_group(function)
        group.name = name
        for command in group.commands.values():
            _unbreak(command)
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=_Verb)(function)
    return _unbreak(get_command(alone))


def _unbreak(command: Any) -> Any:
    """Returns the command with a help text of one line for each paragraph: the terminal breaks
    lines."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return command


class _Verb(TyperCommand):
    """A verb that takes its only argument for `--config`, if it has that option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(each.name == "config" for each in self.params):
            options, arguments, _ = self.make_parser(ctx).parse_args([*args])
            if len(arguments) == 1 and "config" not in options:
                at = args.index(arguments[0])
                args = [*args[:at], *args[at + 1 :], "--config", arguments[0]]
        return super().parse_args(ctx, args)


class _Group(TyperGroup):
    """Imports verbs when they are called, says the parser's messages as one sentence, and reports
    Ctrl-C."""

    overview = False

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.commands = {
            verb: TyperCommand(verb, help=text, rich_help_panel=RARER if verb in RARE else None)
            for verb, text in VERBS.items()
        }

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Imports the verb, unless only its help is shown in the overview."""
        return (
            _verb(cmd_name)
            if cmd_name in VERBS and not self.overview
            else super().get_command(ctx, cmd_name)
        )

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.overview = True
        super().format_help(ctx, formatter)

    def make_context(self, *arguments: Any, **values: Any) -> Any:
        with _in_words():
            return super().make_context(*arguments, **values)

    def invoke(self, ctx: Any) -> Any:
        with _in_words():
            return super().invoke(ctx)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = getattr(error, "format_message", None)  # the parser's, which typer keeps private
        if message is None or type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        verb = context.command_path if context else "snnbench"
        said = message().rstrip(".")
        for theirs, ours in WORDS.items():
            said = said.replace(theirs, ours)
        raise ConfigError(f"{said} ({verb} -h has what it takes)") from None
    except KeyboardInterrupt:  # typer turns it into a silent exit
        say("interrupted; what was finished is kept")
        raise typer.Exit(exit_codes.INTERRUPTED) from None


app = typer.Typer(
    name="snnbench",
    cls=_Group,
    help="Proves that spiking-neural-network frameworks compute the same network, then measures "
    "which is fastest and leanest.",
    epilog="Exit codes: "
    + ", ".join(f"{code} {meaning}" for code, meaning in exit_codes.MEANINGS.items())
    + ". Start with: snnbench quick; or snnbench init, then snnbench run --config experiment.toml",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"snnbench {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The options of snnbench itself; `app` has its help."""
