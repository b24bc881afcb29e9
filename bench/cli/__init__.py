"""The command line: one file per verb, no logic in it."""

# What is imported here is imported before a Ctrl-C is handled: no more than this.
import codecs
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .exit_codes import INTERNAL, INTERRUPTED, USAGE

IN_THE_WAY = "; a file is where a folder must be"
ADVICE = {
    errno.ENOSPC: "; make room there",
    errno.EDQUOT: "; make room there",
    errno.ENAMETOOLONG: "; choose a shorter name",
}
ADVICE |= {errno.ENOTDIR: IN_THE_WAY, errno.EEXIST: IN_THE_WAY, errno.EISDIR: "; name a file"}
ADVICE[errno.EFBIG] = "; allow larger files (ulimit -f)"
NAMED = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR}
"""Errors that another name would avoid."""


SIGNS = {"→": "->", "…": "...", "≤": "<=", "≥": ">=", "–": "-", "—": "-", "−": "-", "·": "-"}
SIGNS |= {"×": "x", "≈": "~", "µ": "u", "✓": "+", "✗": "x", "°": " deg", "“": '"', "”": '"'}
SIGNS |= {"█": "#", "━": "-", "─": "-", "│": "|", "’": "'"}
"""Signs that an encoding may lack, and ASCII for them."""


def signs(error: UnicodeError) -> tuple[str, int]:
    """Handles characters that a stream cannot encode: SIGNS, and ? for any other."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(SIGNS.get(letter, "?") for letter in text), error.end


def main() -> None:
    """Sets up signals and streams, then runs the command. SIGTERM counts as Ctrl-C."""
    # A shell ignores Ctrl-C for programs in the background.
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signals = [signal.SIGTERM] if ignored else [signal.SIGINT, signal.SIGTERM]

    def handle(handler: Callable[[int, FrameType | None], object]) -> None:
        for each in signals:
            signal.signal(each, handler)

    handle(_leave)
    codecs.register_error("snnbench.signs", signs)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: no other file may get its number
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False))
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            raw = io.BufferedWriter(_OpenEndedStream(stream.fileno(), "w", closefd=False))
            encoding = "ascii" if _plain_locale() else stream.encoding
            text = io.TextIOWrapper(
                raw, encoding, "snnbench.signs", line_buffering=stream.line_buffering
            )
            setattr(sys, name, text)
    try:
        run_command(imported=lambda: handle(signal.default_int_handler))
    except KeyboardInterrupt:  # a second one, while the first is reported
        os._exit(INTERRUPTED)
    finally:
        handle(_leave)


def _plain_locale() -> bool:
    """Returns whether the user asks for the locale C, in which Python writes UTF-8 all the same."""
    named = (os.environ.get(name) for name in ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG"))
    return next(filter(None, named), None) in ("C", "POSIX")


class _OpenEndedStream(io.FileIO):
    """A stream that its reader may close early, as `head` does, without an error.

    Another error is reported once, and later output is dropped.
    """

    failed = False

    def write(self, data: Any) -> int:
        try:
            return len(data) if self.failed else super().write(data) or 0
        except BrokenPipeError:
            return len(data)
        except OSError as error:
            self.failed, error.filename = True, "standard output"
            raise


def _leave(number: int, frame: FrameType | None) -> None:
    """Ends the process at once, while the command is imported or after it has ended.

    An exception would print a traceback, or get lost in an import.
    """
    os.write(2, b"snnbench: interrupted\n")
    os._exit(INTERRUPTED)


def run_command(
    arguments: list[str] | None = None, imported: Callable[[], None] = lambda: None
) -> None:
    """Runs one verb with `arguments`, by default those of the process. `imported` is called after
    the import of the verb, before it begins. Raises SystemExit with the exit code."""
    with exit_in_words():
        from .app import app, load_verb

        load_verb(sys.argv[1:] if arguments is None else arguments)
        imported()
        try:
            app(arguments, prog_name="snnbench")
        finally:
            sys.stdout.flush()  # reports a full disk


@contextmanager
def exit_in_words() -> Iterator[None]:
    """Turns a Ctrl-C, a user's mistake and an error of a file into one sentence on stderr without a
    traceback. Raises SystemExit with the exit code."""
    from ..common.mistakes import ConfigError
    from ..common.texts import SHOWN, clean, cut

    try:
        yield
    except KeyboardInterrupt:
        print("snnbench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except ConfigError as error:
        print(cut(clean(f"snnbench: {error}"), *SHOWN), file=sys.stderr)
        sys.exit(USAGE)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        text = clean(
            f"snnbench: {error.strerror or error}{where}{ADVICE.get(error.errno or 0, '')}"
        )
        print(cut(text, *SHOWN), file=sys.stderr)
        sys.exit(USAGE if error.errno in NAMED else INTERNAL)
