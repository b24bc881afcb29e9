"""Messages about mistakes in a config or on the command line; each says what would be right."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from .texts import anonymous

_VARIANT = r"(:(\*|[A-Za-z0-9_.-]+(\+[A-Za-z0-9_.-]+)?))?$"
FRAMEWORK = rf"^[A-Za-z0-9_.-]+(@[A-Za-z0-9_.+!-]+)?{_VARIANT}"
UNVERSIONED = rf"^[A-Za-z0-9_.-]+{_VARIANT}"
DEVICE = r"^(cpu|tpu|cuda(:\d{1,3})?)$"
OPTION = r"^--?[A-Za-z][^\x00-\x1f]*$"
LARGEST_SEED = (1 << 63) - 1
LARGEST_SIZE = 1 << 24
"""Most neurons, layers, time steps or items of a batch."""
MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$"


def hexadecimal(digits: int) -> str:
    """Returns the pattern of a number of so many hexadecimal digits."""
    return f"^[0-9a-f]{{{digits}}}$"


class ConfigError(Exception):
    """Raised for a user's mistake in a config or on the command line: exit code 2."""


TOML = {
    "Illegal character '\\n'": "a text in quotes does not end on its line",
    "Unterminated string": "a text in quotes does not end",
    "Unescaped": "a backslash in a text must be written twice, or the text be in single quotes",
    "Cannot overwrite": "a key stands twice",
    "Duplicate": "a key stands twice",
    "Cannot declare": "a table stands twice",
    "Cannot redefine": "a table stands twice",
    "Cannot mutate": "a table that is complete gets another key",
    "Invalid value": "there is no value here, or a text without quotes",
    "Expected newline": "there is more behind the value; each key has a line of its own",
    "Expected '='": "a key has no = and no value",
    "Expected ']": "the name of a table does not end with its bracket",
    "Invalid statement": "there is no key here",
    "Invalid initial character": "there is no key here",
    "Unclosed array": "a list does not end with ]",
    "Unclosed inline table": "a table does not end with }",
    "Invalid date": "there is no such date or time",
}
"""Words of this project by the beginning of tomllib's."""


def toml_in_words(error: Exception) -> str:
    """Returns what is wrong with a TOML text, and where."""
    fault, _, place = str(error).rpartition(" (at ")
    words = next((words for start, words in TOML.items() if fault.startswith(start)), None)
    return f"{words} (at {place}" if words else str(error)


def in_words(error: Exception) -> str:
    """Returns the words of an error; of a file's error without its number and path."""
    return str(getattr(error, "strerror", None) or error)


SURE = 0.8
"""Similarity from which one word is meant and no other."""


def nearest(word: str, words: Iterable[str], most: int = 1) -> str:
    """Returns `; did you mean 'x'?` for the most similar of `words`, `'x' or 'y'` for at most so
    many if none is very similar, or an empty text."""
    written, known = str(word)[:100], [str(w) for w in words]
    close = difflib.get_close_matches(written, known, n=1, cutoff=SURE) or (
        difflib.get_close_matches(written, known, n=most)
    )
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def wanted(first: dict[str, Any]) -> str:
    """Returns what would be right, from the first of pydantic's errors."""
    kind, context = first["type"], first.get("ctx", {})
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", context["expected"])
        known = (
            f"one of {', '.join(words)}{nearest(shown(first['input']), words)}"
            if words
            else context["expected"]
        )
        return f"must be {known}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return "is empty; name at least one value or leave the key out"
    if kind == "string_pattern_mismatch":
        return {
            FRAMEWORK: "must look like 'norse', 'norse@1.0.0', 'norse:compile', "
            "'norse:construction+mode' or 'norse:*'",
            UNVERSIONED: "must look like 'norse', 'norse:compile', 'norse:construction+mode' "
            "or 'norse:*'",
            OPTION: "must look like '--partition=gpu' or '-pgpu'",
            DEVICE: "must be 'cpu', 'cuda' or 'cuda:0'",
            hexadecimal(12): "must be 12 hexadecimal digits",
            hexadecimal(16): "must be 16 hexadecimal digits",
            MOMENT: "must look like 2026-11-20T13:31:34+00:00",
        }.get(context["pattern"], "may hold letters, digits, dots, dashes and underscores")
    return {
        "greater_than": f"must be above {context.get('gt')}",
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than": f"must be below {context.get('lt')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "finite_number": "must be a finite number",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "too_long": f"must have at most {context.get('max_length')} entries",
        "int_type": "must be a whole number",
        "bool_type": "must be true or false",
        "list_type": "must be a list, in brackets",
        "tuple_type": "must be a list, in brackets",
        "float_type": "must be a number",
        "float_parsing": "must be a number",
        "string_type": "must be a text, in quotes",
        "model_type": "must be a table",
        "dict_type": "must be a table",
    }.get(kind, first["msg"])


def shown(value: Any) -> str:
    """Returns a value as a message quotes it, cut if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of more than 4,300 digits, or deep nesting
        return f"{'an integer' if isinstance(value, int) else 'a value'} too long to show"
    return text if len(text) <= 60 else anonymous(text)[:57] + "..."
