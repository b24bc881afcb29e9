"""The public part of a record: allowed fields, and texts without paths, addresses and names of
people or machines."""

import os
import platform
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from snnbench.adapters.registry import is_own

from ..common.texts import IMPERSONAL, anonymous
from ..records.record import Record
from ..schema.reported import KnownFacts, Reported

OWN_WORDS = ("ok", "unsupported", "pruned", "timeout", "interrupted", "implausible", "check_failed")
"""Statuses with reasons that snnbench or an adapter wrote; the others quote errors."""
LEFT_OUT = "its words are left out"

FIELDS = (
    *("snnbench", "git_commit", "case_id", "case", "set", "block", "live_set", "attempt"),
    *(
        "done_key",
        "recordings",
        "status",
        "reason",
        "parts",
        "proof",
        *Reported.model_fields,
        "ceilings",
    ),
    *("warnings", "exit_code", "signal", "adapter", "environment", "machine", "measure"),
    *("monitor", "started_at", "duration_s", "overhead_s"),
)
"""Public fields of a record; `traceback` and `stderr_tail` are never exported."""
INSIDE = {
    "adapter": ("name", "version", "reference", "source_sha256", "closure"),
    "environment": ("name", "hash", "python", "devices", "image"),
    "machine": (
        *("cpu", "usable_threads", "memory_bytes", "gpus", "hash", "cores", "threads", "system"),
        *("container", "node", "node_of"),
    ),
    "monitor": ("null_s", "load_average", "foreign_cores", "throttle_reasons", "canary"),
    "facts": tuple(KnownFacts.__annotations__),
}
FREE = (
    *("reason", "findings", "loosened", "warnings", "memory_meaning", "disturbed", "unknown"),
    *("facts", "distributed"),
)
"""Fields with free texts, at any depth, possibly from a third-party adapter."""
EXPERIMENT = ("name", "seed", "exclude", "grid", "include", "measure")
"""Public fields of `experiment.json`, without a user's adapters, images and data folders."""

_PRIVATE = (
    (re.compile(r"(?<![\w.+-])[\w.+-]+:[^\s:@/]+@(?=[\w-])"), "<login>@"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "<address>"),
    (re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]|\w)"), "<address>"),
    (
        re.compile(
            r"(?<![\w:/.<~-])(?:~|[A-Za-z]:)?(?:[/\\](?:[\w.+@-]| (?=[\w.+@ -]*[/\\]))+){2,}[/\\]?"
        ),
        "<path>",
    ),
    (re.compile(r"(?<![\w:/.<])~[/\\][^\s'\",;:)]*"), "<path>"),
)
"""Private patterns. A version such as 0.0.0.0.14 is no address, and `and/or` is no path."""
_NO_BRACKETS = str.maketrans("", "", "<>")
_ERROR = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?=: |$)")
_PART = re.compile(r" ?\((?:its words are left out, )?in part '(\w+)'\)$")
_TOLD = re.compile(
    r"^(?:killed by (?:SIG\w+|signal \d+|the kernel for want of memory) in part '\w+'"
    r"|exited with status -?\d+ in part '\w+' before it was through"
    r"|used more memory than host_memory, with what it shared, in part '\w+'"
    r"|[\w.-]+ is not installed(?: in environment [\w.-]+)?"
    r"|needs an environment of its own: [\w ,.():'+-]+)$"
)
"""Reasons that snnbench itself gives for a failed worker."""


def scrubbed_experiment(values: Any) -> dict[str, Any]:
    """Returns the public part of an experiment, empty if there is none."""
    known = values if isinstance(values, Mapping) else {}
    public = {name: known[name] for name in EXPERIMENT if name in known}
    return public | ({"name": harmless(str(public["name"]))} if "name" in public else {})


def harmless(text: str) -> str:
    """Returns the text without names of the user and the machine, paths and addresses.

    >>> harmless("cannot open /home/alice/spikes.npy, ask alice@example.org")
    'cannot open <path>, ask <address>'
    """
    return _words(*private_words()).sub("NAME", placeless(anonymous(text)))


def placeless(text: str) -> str:
    """Returns the text without paths and addresses, the same on every machine.

    >>> placeless("version 0.0.0.0.14 at 10.0.0.7")
    'version 0.0.0.0.14 at <address>'
    """
    for pattern, instead in _PRIVATE:
        text = pattern.sub(instead, text)
    return text


def private_words() -> tuple[str, ...]:
    """Returns the private names here: the account, its home folder, the host."""
    named = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "HOSTNAME")]
    host, home = platform.node(), Path(os.environ.get("HOME", "/")).name
    named += [home, host, host.partition(".")[0]]
    common = (*IMPERSONAL.split(), "localhost")
    words = (word for word in named if len(word) > 2 and word.lower() not in common)
    return tuple(dict.fromkeys(words))


def scrubbed(record: Record, clean: Callable[[str], str] = harmless) -> dict[str, Any]:
    """Returns the public fields of a record as JSON values, with free texts cleaned by `clean` and
    without defaults."""
    values = record.model_dump(by_alias=True, exclude_defaults=True)
    public = {name: values[name] for name in FIELDS if values.get(name) is not None}
    for name, known in INSIDE.items():
        if name in public:
            public[name] = {key: value for key, value in public[name].items() if key in known}
    public["adapter"]["reference"] = public["adapter"]["reference"].rpartition("/")[2]
    public["environment"]["name"] = clean(public["environment"]["name"]).translate(_NO_BRACKETS)
    public["set"] = clean(public["set"]).translate(_NO_BRACKETS)
    if image := public["environment"].get("image"):
        image["name"] = "image"
    for part in public.get("parts", {}).values():
        _shorten_reason(part, part.get("status") or record.status)
    _shorten_reason(public, record.status)
    public = _texts(public, False, clean)
    return {
        "schema": record.schema_version,
        **{name: value for name, value in public.items() if value not in ({}, [])},
    }


def leaks(record: Record) -> list[str]:
    """Returns private words in names of a third-party adapter, which belong to what was
    measured."""
    adapter, case = record.adapter, record.typed_case
    if is_own(adapter["reference"]):
        return []
    names = [adapter["name"], adapter["reference"], *adapter.get("closure", {})]
    names[2:2] = [case.framework, case.construction, case.mode]
    return list(dict.fromkeys(_words(*private_words()).findall("\n".join(names))))


def _shorten_reason(ended: dict[str, Any], status: str) -> None:
    """Keeps the kind of error and the part of a failure, and drops its words."""
    reason = ended.get("reason")
    if not reason or status in OWN_WORDS or _TOLD.match(reason):
        return
    part, error = _PART.search(reason), _ERROR.match(reason)
    phrases = [LEFT_OUT, *([f"in part {part[1]!r}"] if part else [])]
    ended["reason"] = f"{error[0] + ': ' if error else ''}({', '.join(phrases)})"


def _texts(value: Any, free: bool, clean: Callable[[str], str]) -> Any:
    """Returns `value` with cleaned texts if it is `free`, else with those of free fields in it."""
    if isinstance(value, str):
        return clean(value) if free else value
    if isinstance(value, dict):
        return {name: _texts(item, free or name in FREE, clean) for name, item in value.items()}
    return [_texts(item, free, clean) for item in value] if isinstance(value, list) else value


@cache
def _words(*words: str) -> re.Pattern[str]:
    if not words:
        return re.compile(r"(?!)")
    longest = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W_])(?:{longest})(?![^\W_])", re.IGNORECASE)
