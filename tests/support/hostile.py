"""What comes from outside and is wrong: JSON trees and texts, changed at random or in one place."""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any


def nested(levels: int) -> list:
    """Returns lists in lists, so many levels deep."""
    inner: list = []
    for _ in range(levels - 1):
        inner = [inner]
    return inner


DEEP = nested(401)
HOSTILE_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        -0.0,
        1,
        2**63,
        -(2**63) - 1,
        10**400,
        0.5,
        -0.5,
        1e-320,
        1e300,
        1e308,
        float("inf"),
        float("-inf"),
        float("nan"),
    ),
    *(
        "",
        " ",
        "no",
        "1",
        "-1",
        "NaN",
        "ok",
        "soon",
        "\ud800",
        "\x00",
        "\x1b[31mred\x1b[0m",
        "\x9b31m",
        "\u202etxt",
        "=1+1",
        "=cmd()",
        "-x",
        "@x",
    ),
    *(
        "../../victim/x",
        "/../../victim",
        "victim",
        "/etc/passwd",
        "..",
        "/",
        "~",
        "$HOME",
        "a" * 300,
        "b" * 100_000,
        "{{ 7*7 }}",
        "<script>",
        "|",
    ),
    *([], {}, [[]], [None], [1, "a"], {"": None}, {"a": {"b": []}}, DEEP),
)
TOKENS = (
    *(
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\n",
        b"\\ud800",
        b"NaN",
        b"-Infinity",
    ),
    *(
        b"9" * 5000,
        b"1e99999",
        b"[" * 3000,
        b"null",
        b"true",
        b"#",
        b"=",
        b"'",
        b"../",
        b"\xe2\x80\xae",
        b"\x1b[2J",
    ),
)


def changed_tree(random: Random, tree: Any, times: int = 2) -> Any:
    """A copy with up to so many changes: a value replaced, also by one of another place, taken
    out, doubled, or put under another name."""
    tree = {"": deepcopy(tree)}
    for _ in range(random.randint(1, times)):
        _change(random, tree)
    return tree.get("")


def _change(random: Random, tree: Any) -> None:
    holder, key = tree, ""
    while isinstance(inner := holder[key], dict | list) and inner and random.random() < 0.85:
        holder, key = (
            inner,
            random.choice(list(inner) if isinstance(inner, dict) else range(len(inner))),
        )
    how = random.random()
    if how < 0.6 or holder is tree:
        holder[key] = deepcopy(random.choice(HOSTILE_VALUES))
    elif how < 0.7:
        holder[key] = deepcopy(random.choice([value for _, value in places(tree)]))
    elif how < 0.8:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[random.choice(["", "x", "__class__", "\ud800", key + "s"])] = holder[key]


def places(
    document: Any, here: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every place in a document below its root, with the value there."""
    entries = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in entries:
        yield (*here, key), value
        yield from places(value, (*here, key))


def with_value(document: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """A copy of the document with another value in one place."""
    copied = inner = deepcopy(document)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copied


def changed_text(random: Random, text: bytes) -> bytes:
    """A text with a piece cut out, doubled, or something put in."""
    first, last = sorted(random.randint(0, len(text)) for _ in range(2))
    last = min(last, first + random.choice([1, 3, 40, len(text)]))
    middle = random.choice([b"", text[first:last] * 2, random.choice(TOKENS), random.randbytes(7)])
    return text[:first] + middle + text[last:]


def changed_json(random: Random, tree: Any) -> bytes:
    """The text of a changed tree, or a changed text."""
    text = json.dumps(tree if random.random() < 0.3 else changed_tree(random, tree)).encode()
    return changed_text(random, text) if random.random() < 0.3 else text
