"""Where in an author's file an exception comes from."""

import traceback
from pathlib import Path

from ..common.texts import cut
from ..core.fingerprint import files_of, folder_of

LONGEST = 4000
"""Characters of a traceback; of a longer one the middle is left out."""


def from_author(error: BaseException, reference: str) -> str | None:
    """The frames of an exception from the first in the adapter's own files on, and the exception; None if there is no such frame.
    Files of the base classes are nobody's own."""
    shared = (
        folder_of("snnbench.adapters") / "base",
        folder_of("snnbench.adapters") / "ranks",
        folder_of("snnbench.core"),
    )
    own = {
        path
        for path in files_of(reference)
        if not any(path.is_relative_to(folder) for folder in shared)
    }
    frames = error.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename).resolve() not in own:
        frames = frames.tb_next
    if frames is None and not (
        isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() in own
    ):
        return None
    lines = traceback.TracebackException(type(error), error, frames, compact=True).format(
        chain=False
    )
    text = "".join(line for line in lines if not line.startswith("Traceback (most")).rstrip()
    return cut(text, LONGEST // 2, LONGEST // 2)
