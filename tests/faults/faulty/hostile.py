"""Adapters that do what they like to their worker's folder and pipes, or end in ways that have
to be read from their output."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from numpy_network import NumpyNetwork, NumpyProgram


def own_folder() -> Path:
    """The worker's folder, which holds its pipes, its events and its temporary folder."""
    return Path(sys.argv[2]).parent


class RemovingProgram(NumpyProgram):
    def forward(self, x):
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
        return super().forward(x)


class RemovesTemporaries(NumpyNetwork):
    name = "removes-temporaries"
    program_class = RemovingProgram


class UprootingProgram(NumpyProgram):
    def forward(self, x):
        shutil.rmtree(own_folder().parent, ignore_errors=True)
        return super().forward(x)


class RemovesAllScratch(NumpyNetwork):
    """Removes the folders of all workers of its run."""

    name = "removes-all-scratch"
    program_class = UprootingProgram


class ReplacingProgram(NumpyProgram):
    def forward(self, x):
        for path in own_folder().iterdir() if self.count("forward") == 1 else ():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            make = {"events": os.mkfifo, "orders": os.mkdir, "arrays": Path.touch}.get(path.name)
            if make:
                make(path)
            else:
                path.symlink_to("/dev/zero")
        return super().forward(x)


class ReplacesItsFiles(NumpyNetwork):
    """A pipe, links and a folder stand where its files were."""

    name = "replaces-its-files"
    program_class = ReplacingProgram


class ChatteringProgram(NumpyProgram):
    def forward(self, x):
        with open(own_folder() / "answers", "wb") as stream:
            while True:
                stream.write(b"x" * (1 << 16))


class AnswersForEver(NumpyNetwork):
    name = "answers-for-ever"
    program_class = ChatteringProgram


class ReportingProgram(NumpyProgram):
    def forward(self, x):
        with open(own_folder() / "events", "a") as stream:
            stream.truncate(1 << 40)
        return super().forward(x)


class ReportsForEver(NumpyNetwork):
    """Makes a terabyte of its events, which takes no room on the disk."""

    name = "reports-for-ever"
    program_class = ReportingProgram


class Stop(BaseException):
    """What no `except Exception` catches."""


class StoppingProgram(NumpyProgram):
    def forward(self, x):
        raise Stop("that is enough")


class RaisesStop(NumpyNetwork):
    name = "raises-stop"
    program_class = StoppingProgram


def last_words(words: str) -> type[NumpyProgram]:
    class DyingProgram(NumpyProgram):
        def forward(self, x):
            os.write(2, f"{words}\n".encode())
            os._exit(1)

    return DyingProgram


class WithoutMemory(NumpyNetwork):
    """Ends as OpenBLAS does."""

    name = "without-memory"
    program_class = last_words(
        "OpenBLAS error: Memory allocation still failed after 10 retries, giving up."
    )


class WithoutRoom(NumpyNetwork):
    """Ends as a compiler does on a full disk."""

    name = "without-room"
    program_class = last_words(
        "/tmp/kernel.s: fatal error: error writing to /tmp/kernel.s: No space left on device"
    )
