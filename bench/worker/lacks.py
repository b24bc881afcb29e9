"""What a version of a framework lacks, in a sentence: another version has it, so that its absence is a finding and no failure."""

import re

from snnbench.adapters.base.contract import Unsupported

MISSING = (
    (ModuleNotFoundError, r"No module named '(?P<name>[^']+)'"),
    (ImportError, r"cannot import name '(?P<name>\w+)' from "),
    (AttributeError, r"(?:module|type object) '[^']*?(?P<owner>\w+)' has no attribute '(?P<name>\w+)'"),
    (AttributeError, r"'(?P<owner>\w+)' object has no attribute '(?P<name>\w+)'"),
    (TypeError, r"(?P<owner>\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'"),
)
"""Errors that say that something is not there, with its name, and where it was looked for."""


def lack(error: BaseException, version: str | None) -> BaseException:
    """`error`, or in its place, if it says that something is not there in `version`, `NAME@VERSION`, an Unsupported that says so.

    lack(ImportError("cannot import name 'LinearLeaky' from 'snntorch'"), "snntorch@0.9.4")  # snntorch 0.9.4 has no LinearLeaky
    """
    if version is None or isinstance(error, Unsupported):
        return error
    name, _, number = version.partition("@")
    for kind, pattern in MISSING:
        if isinstance(error, kind) and (found := re.search(pattern, str(error))):
            return Unsupported(_sentence(f"{name} {number}", name, kind, found.groupdict()))
    if isinstance(error, ImportError | AttributeError):
        return Unsupported(f"{name} {number} cannot be used with what is installed here: {' '.join(str(error).split())}")
    return error


def _sentence(version: str, framework: str, kind: type, found: dict[str, str]) -> str:
    if kind is ModuleNotFoundError and found["name"].partition(".")[0] != framework:
        return f"{version} needs {found['name']}, which is not installed"
    owner = found.get("owner")
    if kind is TypeError:
        return f"{version}: {owner} takes no {found['name']}"
    return f"{version} has no {f'{owner}.' if owner else ''}{found['name']}"
