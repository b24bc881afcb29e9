"""The command line: one file per verb, no logic in it."""

import signal
import sys


def main() -> None:
    """Entry point. A user's mistake ends with one sentence and exit code 2, never with a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows ? instead of nothing
    from .exit_codes import INTERNAL, INTERRUPTED, USAGE

    try:
        from ..mistakes import ConfigError
        from .app import app

        app()
    except KeyboardInterrupt:
        print("snnbench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except ConfigError as error:
        print(f"snnbench: {error}", file=sys.stderr)
        sys.exit(USAGE)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"snnbench: {error.strerror or error}{where}", file=sys.stderr)
        sys.exit(INTERNAL)
