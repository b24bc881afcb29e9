"""The command line: one file per verb, no logic in it."""

import io
import signal
import sys


def main() -> None:
    """Entry point of the process: signals and streams, then the command."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows ? instead of nothing
    run_command()


def run_command(arguments: list[str] | None = None) -> None:
    """Run one verb with `arguments`, by default those of the process. Raises SystemExit with the exit code.

    A user's mistake ends with one sentence on stderr and exit code 2, never with a traceback.
    """
    from .exit_codes import INTERNAL, INTERRUPTED, USAGE

    try:
        from ..mistakes import ConfigError
        from ..texts import clean
        from .app import app

        app(arguments, prog_name="snnbench")
    except KeyboardInterrupt:
        print("snnbench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except ConfigError as error:
        print(clean(f"snnbench: {error}"), file=sys.stderr)
        sys.exit(USAGE)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"snnbench: {error.strerror or error}{where}", file=sys.stderr)
        sys.exit(INTERNAL)
