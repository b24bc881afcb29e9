"""Which commit of snnbench's own source runs here."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
"""The folder in which the package lies: of a checkout its root."""


def git_commit(root: Path = HERE) -> str | None:
    """The commit that is checked out in `root`, with `-dirty` behind it if files differ from it; None where `root` is no
    checkout, as of an installed package, even if a folder above it is one, or where git gives no answer."""
    if not (root / ".git").exists():
        return None
    command = [
        "git",
        "-C",
        str(root),
        "describe",
        "--always",
        "--abbrev=40",
        "--exclude=*",
        "--dirty",
    ]
    surroundings = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    }
    try:
        ended = subprocess.run(
            command,
            env={**surroundings, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip() or None
