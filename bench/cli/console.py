"""Where a verb prints: results on stdout, everything else on stderr."""

import sys

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 140


def output() -> Console:
    return _console(sys.stdout)


def messages() -> Console:
    return _console(sys.stderr)


def _console(stream) -> Console:
    """As wide as the terminal, or wide enough for whole tables where the stream goes elsewhere."""
    console = Console(file=stream, highlight=False)
    return console if console.is_terminal else Console(file=stream, highlight=False, width=WIDTH_WITHOUT_TERMINAL)
