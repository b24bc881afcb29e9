"""Texts from outside, without control sequences for terminals and without the user's names."""

import os
import pwd
import re
import textwrap
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d]*(?:\x07|\x1b\\|\x9c)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Terminal control sequences, control characters but tab and line feed, characters that change the
direction of writing or are invisible, and lone surrogates, which UTF-8 cannot encode."""

SHOWN = 1200, 700
"""Characters of a long message that are shown of its beginning and its end."""

NO_BREAK = "\N{NO-BREAK SPACE}"
"""A space at which no line ends."""

IMPERSONAL = """root user users admin guest nobody default runner build builder test tester ubuntu
debian fedora docker vagrant jovyan cpu gpu cuda torch jax numpy native process events error crash
proof import memory step forward backward inference"""
"""Account names that identify no person, and words that records consist of."""


def clean(value: Any) -> Any:
    """Returns a JSON value without control sequences in its texts, keys included.

    >>> clean({"reason": "\\x1b[31mfailed\\u202e"})
    {'reason': 'failed'}
    """
    return _every_text(value, lambda text: STEERING.sub("", text))


def anonymous(value: Any) -> Any:
    """Returns a JSON value with `~` for the user's home folder and USER for the user's name in all
    its texts, keys included."""
    homes, names = _home_and_names(
        os.environ.get("HOME", ""),
        *(os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")),
    )
    return _every_text(value, lambda text: names.sub("USER", homes.sub("~", text)))


def cut(text: str, first: int, last: int = 0) -> str:
    """Returns a text without its middle if it has more than `first` + `last` characters.

    No part of the user's name remains, because a part cannot be recognised later: names are
    replaced first, and a path at the cut is dropped, as it may be of another system.

    >>> cut("FileNotFoundError: /data/alice/spikes.npy", 30)
    'FileNotFoundError: …'
    """
    if len(text) > first + last:
        text = anonymous(text)
    if len(text) <= first + last:
        return text
    start, end = text[: first - 1], re.sub(r"\A\S+", "", text[len(text) - last :])
    word = start[max(start.rfind(" "), start.rfind("\n")) + 1 :]
    return f"{start.removesuffix(word) if '/' in word else start}…{end}"


def first_few(names: list[str]) -> str:
    """Returns the first three names and the number of further ones.

    >>> first_few(["a", "b", "c", "d", "e"])
    'a, b, c, and 2 more'
    """
    return ", ".join([*names[:3], *([f"and {len(names) - 3} more"] if len(names) > 3 else [])])


def brief(text: str, width: int) -> str:
    """Shortens each line of a record's text to about three lines of a terminal `width` wide.

    >>> brief("TypeError: no such layer", 5)
    'TypeError: no … (whole in the record)'
    """
    lines = text.splitlines()
    return "\n".join(
        f"{cut(line, 3 * width)} (whole in the record)" if len(line) > 3 * width else line
        for line in lines
    )


def condition_lines(conditions: str, width: int) -> list[str]:
    """Breaks `a · b` into lines of at most `width`, inside a condition only if it is longer.

    >>> condition_lines("T = 50 · B = 16 · 1 core", 12)
    ['T = 50 ·', 'B = 16 ·', '1 core']
    """
    parts = conditions.split(" · ")
    whole = [part.replace(" ", NO_BREAK) if len(part) + 2 <= width else part for part in parts]
    lines = textwrap.wrap(f"{NO_BREAK}· ".join(whole), width)
    return [line.replace(NO_BREAK, " ") for line in lines]


def unplaced(value: Any, folders: Iterable[Path]) -> Any:
    """Returns a JSON value; in its texts paths below `folders` are relative to these.

    The place of a folder may identify its owner.

    >>> unplaced("/srv/secret/mine.py:3", [Path("/srv/secret")])
    'mine.py:3'
    """
    home = Path(os.environ.get("HOME", "/"))
    hidden = {
        str(folder)
        for folder in folders
        if len(folder.parts) > 2 and not home.is_relative_to(folder)
    }
    known = _any_of(hidden, r"(?<![\w.-])", r"(/|(?![\w.-]))")
    return _every_text(value, lambda text: known.sub(lambda match: "" if match[1] else ".", text))


def _every_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_every_text(key, change): _every_text(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_every_text(item, change) for item in value]
    return value


@cache
def _home_and_names(home: str, *names: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of the user's home folder (as a path, URL or escaped text) and names."""
    account = _account()
    folders = {
        folder.rstrip("/")
        for path in (home, account[1])
        if path
        for folder in (path, os.path.realpath(path))
    }
    folders = {
        folder for folder in folders if folder.startswith("/") and len(Path(folder).parts) > 1
    }
    spelled = {
        spelling for folder in folders for spelling in (folder, quote(folder), ascii(folder)[1:-1])
    }
    known = {
        name
        for name in (*names, account[0])
        if len(name) > 1 and name.lower() not in IMPERSONAL.split()
    }
    return _any_of(spelled, "", r"(?![\w-])"), _any_of(known, r"(?<![^\W_])", r"(?![^\W_])")


def _account() -> tuple[str, str]:
    """Name and home folder of the process's user; empty if the system knows none."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return "", ""
    return entry.pw_name, entry.pw_dir


def _any_of(words: set[str], before: str, behind: str) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(
        before + f"(?:{'|'.join(map(re.escape, longest_first))})" + behind if words else r"(?!)"
    )
