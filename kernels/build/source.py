"""A kernel's source as one text, so that one text is all that a build depends on."""

import re
from functools import cache
from pathlib import Path


@cache
def inlined(path: Path) -> str:
    """The text of `path` with the files that it includes in quotes, named relative to it, in their places."""
    lines = path.read_text().splitlines()
    included = [re.fullmatch(r'#include "(.*)"', line) for line in lines]
    texts = [inlined((path.parent / match[1]).resolve()) if match else line for line, match in zip(lines, included, strict=True)]
    return "\n".join(line for line in texts if line != "#pragma once") + "\n"
