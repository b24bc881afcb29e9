"""A NIR file is read by a process of its own: HDF5 reads some damaged files for ever, and dies of others."""

import pickle
import subprocess
import sys
from pathlib import Path

from ..network import NetworkFault
from .file import NirGraph, read_nir

READING_S = 30.0
"""Seconds that a file may take to be read."""
READ = (
    "import pickle, sys; from pathlib import Path; from snnbench.experiment.nir.apart import answer; "
    "sys.stdout.buffer.write(pickle.dumps(answer(Path(sys.argv[1]))))"
)


def read_apart(path: Path, seconds: float = READING_S) -> NirGraph:
    """As `read_nir`. Raises NetworkFault for a file that is no NIR file, that is not read in so many seconds, or that ends who
    reads it."""
    command = [sys.executable, "-P", "-c", READ, str(path)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise NetworkFault(
            f"is no NIR file that HDF5 can read: it does not come to an end in {seconds:g} s"
        ) from None
    if done.returncode:
        raise NetworkFault("is no NIR file that HDF5 can read: it ended the process that read it")
    found = pickle.loads(done.stdout)
    if isinstance(found, NirGraph):
        return found
    raise NetworkFault(found)


def answer(path: Path) -> NirGraph | str:
    """What `read_nir` gives, or why it does not."""
    try:
        return read_nir(path)
    except NetworkFault as fault:
        return str(fault)
