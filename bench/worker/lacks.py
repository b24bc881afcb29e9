"""What a version of a framework lacks, in a sentence: another version has it, so that its absence is a finding and no failure."""

import re

from ..core.contract import Unsupported

MISSING = (
    (ModuleNotFoundError, r"No module named '(?P<module>[^']+)'"),
    (ImportError, r"cannot import name '(?P<name>\w+)' from '(?P<module>[^']+)'"),
    (AttributeError, r"module '(?P<module>[^']+)' has no attribute '(?P<name>\w+)'"),
    (
        AttributeError,
        r"(?:type object )?'(?P<owner>\w+)' (?:object )?has no attribute '(?P<name>\w+)'",
    ),
    (
        TypeError,
        r"(?P<owner>\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'",
    ),
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
            return Unsupported(
                _sentence(f"{name} {number}", name.partition("-")[0], error, found.groupdict())
            )
    if isinstance(error, ImportError | AttributeError):
        return Unsupported(_unfit(f"{name} {number}", error))
    return error


def _sentence(version: str, package: str, error: BaseException, found: dict[str, str]) -> str:
    module, owner, name = found.get("module", package), found.get("owner"), found.get("name", "")
    if isinstance(error, TypeError):
        return f"{version}: {owner} takes no {name}"
    if module.startswith(package):  # jaxlib is JAX's
        place = owner or (
            module.rpartition(".")[2]
            if isinstance(error, AttributeError) and module != package
            else ""
        )
        return f"{version} has no {'.'.join(filter(None, (place, name))) or module}"
    if isinstance(error, ModuleNotFoundError):
        return f"{version} needs {module}, which is not installed"
    return _unfit(version, error)


def _unfit(version: str, error: BaseException) -> str:
    text = re.sub(r" \(/[^()]*\)$", "", " ".join(str(error).split()))  # where the module lies
    return f"{version} cannot be used with what is installed here: {text}"
