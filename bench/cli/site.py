"""`snnbench site`: a static site from bundles."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ..common.files import naming, own_folder, spare_inputs, write_atomically
from ..common.mistakes import ConfigError
from ..community.bundle import bundle_files
from ..community.site.pages import site_files
from ..community.site.source import Source
from . import exit_codes
from .console import output, print_json, say
from .options import Json
from .verify import checked, shortened

MARK = ".snnbench-site"
MARKED = "A site of snnbench: all files in this folder are its own, and are replaced.\n"


def site(
    bundles: Annotated[
        list[Path], typer.Argument(help="Bundles, or folders with bundles.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The folder of the site; all that is in it is replaced.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Make a static site that answers which framework is fastest on which machine. It needs no
    server and asks for nothing.

    Every bundle is verified first. One with a fault, or a file that is no bundle, is left out, and
    the exit code says so.
    """
    _must_be_ours(out)
    spare_inputs(out, bundle_files(bundles), replaces_all=True)
    verdicts, others = checked(bundles)
    for verdict in verdicts:
        for sentence in shortened(verdict.faults):
            say(f"{verdict.path} is left out: {sentence}")
    sources = [Source(verdict.bundle) for verdict in verdicts if verdict.sound]
    if not sources:
        raise typer.Exit(exit_codes.REJECTED)
    files = {**site_files(sources), MARK: MARKED}
    with naming(out):
        write_atomically(out / MARK, MARKED)  # first: a killed command leaves a known folder
    with own_folder(out) as scratch:
        for name, text in files.items():
            path = scratch / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for old in [path for path in out.iterdir() if path.name not in (MARK, scratch.parent.name)]:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        for new in list(scratch.iterdir()):
            new.replace(out / new.name)
    left_out = [str(verdict.path) for verdict in verdicts if not verdict.sound]
    size = sum(len(text.encode()) for text in files.values())
    if as_json:
        places = {"folder": str(out), "page": str(out / "index.html")}
        print_json({**places, "files": len(files), "bytes": size, "left_out": left_out})
    else:
        output().print(
            f"[bold]site[/] {out / 'index.html'}: {len(files)} files, {size / 1e3:.0f} kB",
            soft_wrap=True,
        )
    raise typer.Exit(exit_codes.REJECTED if left_out or others else exit_codes.FINE)


def _must_be_ours(out: Path) -> None:
    """Raises ConfigError for a folder with other files."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {out}: is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise ConfigError(
            f"--out {out}: has files that are no site of snnbench; "
            "choose another folder, or empty it"
        )
