"""Texts from outside, made harmless: none of them steers a terminal, and what is written does not say whose machine this is."""

import os
import pwd
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d]*(?:\x07|\x1b\\|\x9c)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Sequences that terminals obey, control characters but tab and line feed, what turns the direction of writing or is not seen,
and halves of characters, which no file can hold."""

SHOWN = 1200, 700
"""Characters of a message of which the beginning and the end are shown."""

NAME_NOBODY = """root user users admin guest nobody default runner build builder test tester ubuntu debian fedora docker vagrant
jovyan cpu gpu cuda torch jax numpy native process events error crash proof import memory step forward backward inference"""
"""Accounts that say nothing of a person, and words of which records are made."""


def clean(value: Any) -> Any:
    """`value`, of JSON, without anything in its texts that could steer a terminal; keys included.

    >>> clean({"reason": "\\x1b[31mfailed\\u202e"})
    {'reason': 'failed'}
    """
    return _every_text(value, lambda text: STEERING.sub("", text))


def anonymous(value: Any) -> Any:
    """`value`, of JSON, with `~` for the user's home folder and USER for the user's name in all its texts, keys included."""
    homes, names = _of(
        os.environ.get("HOME", ""),
        *(os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")),
    )
    return _every_text(value, lambda text: names.sub("USER", homes.sub("~", text)))


def cut(text: str, first: int, last: int = 0) -> str:
    """A text without its end, or middle, where it has more than `first` and `last` characters. No part of the user's names, which
    nobody could know later, is left: they are replaced before, and a path that would be cut goes: it may be of another system.

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
    """The first three, and how many more there are.

    >>> first_few(["a", "b", "c", "d", "e"])
    'a, b, c, and 2 more'
    """
    return ", ".join([*names[:3], *([f"and {len(names) - 3} more"] if len(names) > 3 else [])])


def brief(text: str, width: int) -> str:
    """`text` of a record for a terminal of `width` characters: each of its lines takes about three there at most.

    >>> brief("TypeError: no such layer", 5)
    'TypeError: no … (whole in the record)'
    """
    lines = text.splitlines()
    return "\n".join(
        f"{cut(line, 3 * width)} (whole in the record)" if len(line) > 3 * width else line
        for line in lines
    )


def unplaced(value: Any, folders: Iterable[Path]) -> Any:
    """`value`, of JSON, with paths below any of `folders` relative to it in all its texts: where those lie tells of their owner.

    >>> unplaced("/srv/secret/mine.py:3", [Path("/srv/secret")])
    'mine.py:3'
    """
    home = Path(os.environ.get("HOME", "/"))
    told = {
        str(folder)
        for folder in folders
        if len(folder.parts) > 2 and not home.is_relative_to(folder)
    }
    known = _any_of(told, r"(?<![\w.-])", r"(/|(?![\w.-]))")
    return _every_text(value, lambda text: known.sub(lambda found: "" if found[1] else ".", text))


def _every_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_every_text(key, change): _every_text(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_every_text(item, change) for item in value]
    return value


@cache
def _of(home: str, *names: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What matches the home folder of the process's user, as a path, a part of a URL or escaped, and the user's names."""
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
        if len(name) > 1 and name.lower() not in NAME_NOBODY.split()
    }
    return _any_of(spelled, "", r"(?![\w-])"), _any_of(known, r"(?<![^\W_])", r"(?![^\W_])")


def _account() -> tuple[str, str]:
    """Name and home folder of the process's user; empty where the system knows none."""
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
