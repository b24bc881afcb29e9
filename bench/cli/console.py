"""Where and how a verb prints: results on stdout, everything else on stderr."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..common import units
from ..common.texts import SHOWN, clean, cut

TABLES, LINES = 100, 180
"""Characters of a line without a terminal and without COLUMNS: of tables, and of the text after
which a reason is cut."""
UNLIMITED = 1000
"""Characters, more than any table is wide."""
RARER = "For rarer cases"
"""Heading of the verbs and options that few people need: the last part of a help text."""


def output() -> Console:
    return _console(sys.stdout, TABLES)


def messages() -> Console:
    return _console(sys.stderr, LINES)


def _console(stream: TextIO, width: int) -> Console:
    """Returns a console as wide as COLUMNS says, or the terminal, or `width`."""
    console = Console(file=stream, highlight=False)
    columns = os.environ.get("COLUMNS", "")
    if console.is_terminal or (columns.isdecimal() and int(columns)):
        return console
    return Console(file=stream, highlight=False, width=width)


def say(sentence: str) -> None:
    """Prints a sentence on one line of stderr."""
    messages().print(escape(cut(clean(f"snnbench: {sentence}"), *SHOWN)), soft_wrap=True)


def waiting(what: str, limit_s: float) -> AbstractContextManager[object]:
    """Shows on a terminal what runs, and for how long at most."""
    return messages().status(escape(f"{what}, for {units.duration(limit_s)} at most"))


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=1))


def new_table(*columns: str, whole: Sequence[str] = (), right: Sequence[str] = ()) -> Table:
    """Returns a table without rows; columns in `whole` do not wrap, those in `right` are
    right-aligned."""
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in whole)
    return table
