"""Inlines headers into a kernel's source, so that a build depends on one text only."""

import re
from functools import cache
from pathlib import Path


@cache
def inlined(path: Path) -> str:
    """Returns the text of `path` with each relative `#include "…"` replaced by the header's
    text."""
    lines = path.read_text().splitlines()
    includes = [re.fullmatch(r'#include "(.*)"', line) for line in lines]
    texts = [
        inlined((path.parent / match[1]).resolve()) if match else line
        for line, match in zip(lines, includes, strict=True)
    ]
    return "\n".join(line for line in texts if line != "#pragma once") + "\n"
