"""What a framework rests on: the installed distributions of its modules and, step by step, those that these need."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions

BEHIND_NAME = re.compile(r"[^A-Za-z0-9._-]")
"""What follows the name in a requirement."""


def closure_of(modules: Iterable[str]) -> dict[str, str]:
    """Versions by normalised name, sorted. What an extra asks for is left out, as is what is not installed: requirements for
    other systems and Pythons.

    closure_of(["jax"])  # {"jax": "0.10.2", "jaxlib": "0.10.2", "ml-dtypes": "0.5.4", "numpy": …}
    """
    owners = _owners()
    waiting = [name for module in modules for name in owners.get(module.partition(".")[0], ())]
    found: dict[str, str] = {}
    while waiting:
        known = _installed(waiting.pop())
        if (
            known is None
            or (name := re.sub(r"[-_.]+", "-", known.metadata["Name"]).lower()) in found
        ):
            continue
        found[name] = known.version
        waiting += [
            BEHIND_NAME.split(text, 1)[0] for text in known.requires or () if "extra ==" not in text
        ]
    return dict(sorted(found.items()))


@cache
def _owners() -> Mapping[str, list[str]]:
    """The distributions of each module; looking into all of them takes a while. One whose files are damaged owns nothing."""
    owners = defaultdict[str, list[str]](list)
    for package in distributions():
        with suppress(Exception):
            modules = (package.read_text("top_level.txt") or "").split()
            for module in modules or {
                path.parts[0].partition(".")[0]
                for path in package.files or ()
                if path.suffix == ".py"
            }:
                owners[module].append(package.metadata["Name"])
    return owners


def _installed(name: str) -> Distribution | None:
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        return None
    return found if found.metadata["Name"] and found.version else None
