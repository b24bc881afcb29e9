"""Atomic writes, temporary folders of one command, and locks that the kernel frees."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from .mistakes import ConfigError

PREFIX, MARKER = "snnbench-scratch-", "CACHEDIR.TAG"
TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Made by snnbench for one command, which removes it: https://bford.info/cachedir/\n"
)
"""Text of the marker, by which backup programs skip the folder."""


def cache_folder() -> Path:
    """The folder of files that can be made again: $SNNBENCH_CACHE, or the user's cache folder."""
    return Path(os.environ.get("SNNBENCH_CACHE") or user_cache_path("snnbench")).expanduser()


def node_folder(otherwise: Path) -> Path:
    """Returns a folder on this node's own disk: $SNNBENCH_SCRATCH, else $SLURM_TMPDIR or $TMPDIR.

    Returns `otherwise`, which several nodes may share, if none of them can be written to.
    """
    if scratch := os.environ.get("SNNBENCH_SCRATCH"):
        return Path(scratch).expanduser()
    named = [Path(text) for name in ("SLURM_TMPDIR", "TMPDIR") if (text := os.environ.get(name))]
    return next(
        (path for path in named if path.is_dir() and os.access(path, os.W_OK | os.X_OK)), otherwise
    )


def spare_inputs(out: Path, inputs: Iterable[Path], replaces_all: bool = False) -> None:
    """Raises ConfigError if `out` is one of `inputs`, also behind a link, or if it is a folder that
    holds one and the command `replaces_all` in it."""
    target = out.resolve()
    for each in inputs:
        source = each.resolve()
        if target == source:
            fault = "is one of the inputs, which must stay as they are"
        elif replaces_all and target in source.parents:
            fault = f"holds the input {each}, and all that is in it is replaced"
        else:
            continue
        raise ConfigError(f"--out {out}: {fault}; choose another --out")


def write_atomically(path: Path, content: str | bytes, through: Path | None = None) -> None:
    """Writes `content` (text as UTF-8) so that a reader or a crash sees the old or the new file.

    The folder `through` holds the unfinished file, if it is on the same disk. An OSError names
    `path`.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        elsewhere = (
            through is None
            or not through.is_dir()
            or through.stat().st_dev != path.parent.stat().st_dev
        )
        temporary = Path(
            path.parent if through is None or elsewhere else through,
            f".snnbench-{secrets.token_hex(8)}.tmp",
        )
        try:
            with open(temporary, "xb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds `path` to OSErrors in the block: the error of a full disk names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # without one it comes from a library, with a text to keep
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """Makes a new folder below `parent` for this command, and removes it when the block ends.

    Folders of killed commands in `parent` are removed first: those of this user that have our
    marker and a free lock. Links are not followed.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for abandoned in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout):
            if _is_ours(abandoned):
                with FileLock(abandoned / "lock", timeout=0):
                    _remove(abandoned)
    with naming(parent):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent.resolve()))
    try:
        # The lock is held before the marker exists: no other command removes the folder.
        with FileLock(folder / "lock", timeout=0):
            with naming(folder):
                (folder / MARKER).write_text(TAG)
                (folder / "files").mkdir()
            yield folder / "files"
    finally:
        _remove(folder)


def _is_ours(folder: Path) -> bool:
    """True for our folders, also if the command was killed while it wrote the marker."""
    marker = folder / MARKER
    if (
        folder.is_symlink()
        or marker.is_symlink()
        or not marker.is_file()
        or folder.stat().st_uid != os.getuid()
    ):
        return False
    if marker.stat().st_size > len(TAG):
        return False
    content = marker.read_bytes()
    has_marker_only = {path.name for path in folder.iterdir()} <= {"lock", MARKER}
    return content == TAG.encode() or (has_marker_only and TAG.encode().startswith(content))


def _remove(folder: Path) -> None:
    """Removes the marker last, so that a killed removal still counts as ours."""
    shutil.rmtree(folder / "files", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def exclusive(lock: Path, refusal: Exception, wait: float = 0) -> Iterator[None]:
    """Holds the file `lock` in the block. Raises `refusal` if another process holds it for `wait`
    seconds."""
    try:
        with FileLock(lock, timeout=wait):
            yield
    except Timeout:
        raise refusal from None
