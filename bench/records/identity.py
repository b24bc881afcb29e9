"""Identifies what a measurement was made of: framework, packages, adapter, machine and settings.

A record counts as done, and belongs to a row, by this; a difference is the reason for a new
measurement.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..common import units
from ..experiment.measure import IN_WORDS
from .record import Record

Facts = Mapping[str, Any]
MOST_PACKAGES = 3
"""Most packages that are named if many differ."""


def made_of(adapter: Facts, environment: Facts) -> tuple[str | None, str | None, str, str]:
    """Returns the version and the adapter's hash; Python with the framework's packages, as JSON;
    the image.

    Records without a closure are told apart by all packages of their environment.
    """
    packages = adapter.get("closure") or environment["hash"]
    rests_on = json.dumps([environment.get("python"), packages], sort_keys=True)
    return adapter.get("version"), adapter.get("source_sha256"), rests_on, image_of(environment)


def image_of(environment: Facts) -> str:
    """Returns the digest of the image of the workers' containers; `none` for processes."""
    return str((environment.get("image") or {}).get("digest") or "none").removeprefix("sha256:")


def done_key(
    measure: Facts,
    adapter: Facts,
    environment: Facts,
    machine: Facts,
    recordings: str | None = None,
) -> str:
    """Returns a hash of all of it. The number of blocks does not count. `recordings` is their
    content, None for a network or if it is not known."""
    parts = [_settings(measure), *made_of(adapter, environment), machine["hash"]]
    parts += [] if recordings is None else [recordings]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def differences(
    was: Record,
    measure: Facts,
    adapter: Facts,
    environment: Facts,
    machine: Facts,
    recordings: str | None = None,
) -> Iterator[str]:
    """Yields the differences from a record in words: `torch 2.13.0 → 2.14.0`."""
    old, new = made_of(was.adapter, was.environment), made_of(adapter, environment)
    packages = list(_packages(was.adapter.get("closure") or {}, adapter.get("closure") or {}))
    if old[0] != new[0] and not any(text.endswith(f" {old[0]} → {new[0]}") for text in packages):
        yield _changed(str(adapter["name"]), old[0], new[0])
    if packages and was.adapter.get("closure"):
        more = len(packages) - MOST_PACKAGES
        yield ", ".join(packages[:MOST_PACKAGES]) + (
            f" and {units.counted(more, 'more package')}" if more > 0 else ""
        )
    elif packages:
        yield "its record does not say on which packages it rests"
    if was.environment.get("python") != environment.get("python"):
        yield f"{was.environment.get('python')} → {environment.get('python')}"
    if old[1] != new[1]:
        yield "its file, or what that imports, has changed"
    if old[3] != new[3]:
        yield "another container image"
    if was.machine.get("hash") != machine["hash"]:
        yield "another machine"
    if was.recordings != recordings:
        known = was.recordings is not None
        yield "other recordings" if known else "its record does not say which recordings it read"
    before, now = _settings(was.measure), _settings(measure)
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield _changed(
                name, *(_in_words(name, settings.get(name)) for settings in (before, now))
            )


def _settings(measure: Facts) -> dict[str, Any]:
    return {name: value for name, value in measure.items() if name not in ("blocks", "most_blocks")}


def _packages(old: Facts, new: Facts) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield _changed(name, old.get(name), new.get(name))


def _changed(name: str, old: str | None, new: str | None) -> str:
    return f"{name} {old or 'none'} → {new or 'none'}"


def _in_words(name: str, value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(value) if name == "phases" else IN_WORDS.get(name, str)(value)
