"""Adapters that report what a container allows them, or use up its memory or its processes."""

import json
import mmap
import os
import signal
import socket
from pathlib import Path

from numpy_network import NumpyNetwork, NumpyProgram


class ReportsContainerProgram(NumpyProgram):
    def forward(self, x):
        raise RuntimeError(json.dumps(surroundings()))


class ReportsContainer(NumpyNetwork):
    """Raises an error with what it sees of its container as its text."""

    name = "reports-container"
    program_class = ReportsContainerProgram


def surroundings() -> dict:
    status = dict(
        line.split(":\t")
        for line in Path("/proc/self/status").read_text().splitlines()
        if ":\t" in line
    )
    return {
        "root_writable": os.access("/", os.W_OK) or _writes("/opt"),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "cores": len(os.sched_getaffinity(0)),
        "capabilities": int(status["CapEff"], 16),
        "new_privileges": status["NoNewPrivs"].strip() == "0",
        "user": [os.getuid(), os.getgid()],
        "environment": sorted(name for name in os.environ if name.startswith("SNNBENCH_TEST")),
    }


def _writes(folder: str) -> bool:
    try:
        Path(folder, "written").write_text("")
    except OSError:
        return False
    return True


class FullProgram(NumpyProgram):
    def forward(self, x):
        """Fills 1 GiB of shared memory, which no limit of a process counts."""
        size, part = 1 << 30, bytes([1]) * (1 << 20)
        with mmap.mmap(-1, size) as memory:
            while memory.tell() < size:
                memory.write(part)
        return super().forward(x)


class Full(NumpyNetwork):
    name = "full"
    program_class = FullProgram


class ForkingProgram(NumpyProgram):
    def forward(self, x):
        """Starts child processes until it may not."""
        for _ in range(1000):
            if not os.fork():
                signal.pause()
        raise RuntimeError("there may be any number of children")


class Forking(NumpyNetwork):
    name = "forking"
    program_class = ForkingProgram
