"""Documents, spoilt in one place each, for tests of what is read from outside: records, events, plans, environments, configs."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

Place = tuple[str | int, ...]
NESTED: list = []
for _ in range(150):
    NESTED = [NESTED]
WRONG = (
    *(None, True, False, 0, -1, 1, 0.5, 1e-320, -0.0, 1e308, 10**18, -(10**18), 10**400),
    *(float("nan"), float("inf"), -float("inf")),
    *("", "no", "-1", "1.0", "nan", "../../victim", "/etc/passwd", "a" * 100_000, "=cmd()", "<script>"),
    *("\x1b[31m\u202e\x9b", "\ud800", "\x00"),
    *([], [None], ["x"], {}, {"": 1}, {"../up": {}}, NESTED),
)
"""Values that some reader may not expect."""


def places(document: Any, here: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place in a document below its root, with the value there."""
    entries = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in entries:
        yield (*here, key), value
        yield from places(value, (*here, key))


def with_value(document: Any, place: Place, value: Any) -> Any:
    """A copy of the document with another value in one place."""
    return _changed(document, place, lambda inner, key: inner.__setitem__(key, value))


def without(document: Any, place: Place) -> Any:
    """A copy of the document without what is in one place."""
    return _changed(document, place, lambda inner, key: inner.__delitem__(key))


def mutated(document: Any, random: Random) -> Any:
    """A copy that differs in one place: the value is another, is gone, is that of another place, or has a strange neighbour."""
    known = list(places(document))
    place, value = random.choice(known)
    kind = random.randrange(10)
    if kind < 6:
        return with_value(document, place, random.choice(WRONG))
    if kind == 6:
        return without(document, place)
    if kind == 7:
        return with_value(document, place, copy.deepcopy(random.choice(known)[1]))
    if kind == 8 and isinstance(value, int | float):
        return with_value(document, place, random.choice([-value, value * 1e30, str(value), [value], value + 0.5]))
    return with_value(document, (*place[:-1], "unknown") if isinstance(place[-1], str) else place, random.choice(WRONG))


def torn(text: bytes, random: Random) -> bytes:
    """Bytes of a file that was cut, overwritten or filled with something else."""
    at = random.randrange(len(text) + 1)
    other = random.choice([b"", b"\x00" * 9, b"\xff\xfe", b"[" * 5000, b"9" * 5000, b"{", b"NaN", b"\n\n", b'"'])
    return random.choice([text[:at], text[:at] + other + text[at:], text[:at] + other, other])


def _changed(document: Any, place: Place, change: Any) -> Any:
    made = copy.deepcopy(document)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    change(inner, place[-1])
    return made
