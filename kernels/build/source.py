"""A kernel's source as one text with its headers, so that a build depends on that text only."""

import re
from functools import cache
from pathlib import Path


@cache
def inlined(path: Path) -> str:
    """The text of the file `path` in which each `#include "…"`, relative to the file, is replaced by the text of that header."""
    lines = path.read_text().splitlines()
    includes = [re.fullmatch(r'#include "(.*)"', line) for line in lines]
    texts = [
        inlined((path.parent / match[1]).resolve()) if match else line
        for line, match in zip(lines, includes, strict=True)
    ]
    return "\n".join(line for line in texts if line != "#pragma once") + "\n"
