"""Files that appear whole or not at all, folders that a command makes for itself, and locks that the kernel frees."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

PREFIX, MARKER = "snnbench-scratch-", "CACHEDIR.TAG"
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by snnbench for one command, which removes it: https://bford.info/cachedir/\n"
"""What the marker holds, by which backups know that they need not keep the folder."""


def cache_folder() -> Path:
    """What can be made again lies below $SNNBENCH_CACHE, or in the user's cache folder."""
    return Path(os.environ.get("SNNBENCH_CACHE") or user_cache_path("snnbench")).expanduser()


def node_folder(otherwise: Path) -> Path:
    """Where this node has a disk of its own: $SNNBENCH_SCRATCH, else the folder that $SLURM_TMPDIR or $TMPDIR names, if it can be
    written to, else `otherwise`, which may be shared by many nodes."""
    if own := os.environ.get("SNNBENCH_SCRATCH"):
        return Path(own).expanduser()
    named = [Path(text) for name in ("SLURM_TMPDIR", "TMPDIR") if (text := os.environ.get(name))]
    return next(
        (path for path in named if path.is_dir() and os.access(path, os.W_OK | os.X_OK)), otherwise
    )


def write_atomically(path: Path, content: str | bytes, through: Path | None = None) -> None:
    """Write `content` (text as UTF-8) so that a reader, or a crash, sees the old file or the new one, never a part. It is written
    in the folder `through` first, if that is on the same disk. An OSError names `path`."""
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
    """Let errors of the operating system in the block say that they are about `path`: of a full disk they name nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # else it is a library's own, and its text would be lost
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """A new folder below `parent`, for this command alone, removed with all that is in it when the block ends. Those that killed
    commands left in `parent` are removed first: folders of this user with our marker whose lock nobody holds. Links are not
    followed."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout):
            if _is_ours(left):
                with FileLock(left / "lock", timeout=0):
                    _remove(left)
    with naming(parent):
        own = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent.resolve()))
    try:
        with FileLock(
            own / "lock", timeout=0
        ):  # held before the marker is there: nobody takes it for a leftover
            with naming(own):
                (own / MARKER).write_text(TAG)
                (own / "files").mkdir()
            yield own / "files"
    finally:
        _remove(own)


def _is_ours(folder: Path) -> bool:
    """Also if it was killed while it wrote its marker, and had nothing else yet."""
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
    said = marker.read_bytes()
    alone = {path.name for path in folder.iterdir()} <= {"lock", MARKER}
    return said == TAG.encode() or (alone and TAG.encode().startswith(said))


def _remove(own: Path) -> None:
    """The marker goes last: what a kill leaves must still be known as ours."""
    for folder in (own / "files", own):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def exclusive(lock: Path, refusal: Exception, wait: float = 0) -> Iterator[None]:
    """Hold the file `lock` during the block. Raises `refusal` if another process holds it for `wait` seconds."""
    try:
        with FileLock(lock, timeout=wait):
            yield
    except Timeout:
        raise refusal from None
