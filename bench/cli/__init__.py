"""The command line: one file per verb, no logic in it."""

import sys


def main() -> None:
    """Entry point. A user's mistake ends with one sentence and exit code 2, never with a traceback."""
    from ..config import ConfigError
    from ..exit_codes import INTERNAL, INTERRUPTED, USAGE
    from .app import app

    try:
        app()
    except ConfigError as error:
        print(f"snnbench: {error}", file=sys.stderr)
        sys.exit(USAGE)
    except KeyboardInterrupt:
        print("snnbench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        text = f"snnbench: {error.strerror or error}{where}. What was finished is kept; the same command resumes."
        print(text, file=sys.stderr)
        sys.exit(INTERNAL)
