"""Errors in an adapter: frames in the author's file, and what a framework's version lacks."""

import re
import traceback
from pathlib import Path

from ..common.texts import cut
from ..core.contract import Unsupported
from ..core.fingerprint import files_of, folder_of
from ..core.text_limits import LONGEST_TRACEBACK

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
"""Errors about a missing name, with patterns of the name and of its place."""


def from_author(error: BaseException, reference: str) -> str | None:
    """Returns the traceback from the first frame in the adapter's files on; None without one.

    Files of the base classes do not count as the adapter's.
    """
    shared = (
        folder_of("snnbench.adapters") / "base",
        folder_of("snnbench.adapters") / "ranks",
        folder_of("snnbench.core"),
    )
    author_files = {
        path
        for path in files_of(reference)
        if not any(path.is_relative_to(folder) for folder in shared)
    }
    frames = error.__traceback__
    while (
        frames is not None
        and Path(frames.tb_frame.f_code.co_filename).resolve() not in author_files
    ):
        frames = frames.tb_next
    if frames is None and not (
        isinstance(error, SyntaxError)
        and error.filename
        and Path(error.filename).resolve() in author_files
    ):
        return None
    lines = traceback.TracebackException(type(error), error, frames, compact=True).format(
        chain=False
    )
    text = "".join(line for line in lines if not line.startswith("Traceback (most")).rstrip()
    return cut(text, LONGEST_TRACEBACK // 2, LONGEST_TRACEBACK // 2)


def lack(error: BaseException, version: str | None) -> BaseException:
    """Returns `error`, or an Unsupported if it says that `version` (`NAME@VERSION`) lacks a name.

    Another version has it, so its absence is a finding and no failure.

    lack(ImportError("cannot import name 'LinearLeaky' from 'snntorch'"), "snntorch@0.9.4")
    # Unsupported: snntorch 0.9.4 has no LinearLeaky
    """
    if version is None or isinstance(error, Unsupported):
        return error
    name, _, number = version.partition("@")
    for kind, pattern in MISSING:
        if isinstance(error, kind) and (match := re.search(pattern, str(error))):
            return Unsupported(
                _sentence(f"{name} {number}", name.partition("-")[0], error, match.groupdict())
            )
    if isinstance(error, ImportError | AttributeError):
        return Unsupported(_unfit(f"{name} {number}", error))
    return error


def _sentence(version: str, package: str, error: BaseException, names: dict[str, str]) -> str:
    module, owner = names.get("module", package), names.get("owner")
    name = names.get("name", "")
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
