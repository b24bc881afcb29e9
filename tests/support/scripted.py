"""Processes that run Python text in place of a worker: they can do what they like with what a
worker is given."""

import os
import sys
from dataclasses import dataclass

from snnbench.executors.local import LocalExecutor, LocalWorker

START = """
import json, os, sys, shutil, mmap, signal
from pathlib import Path
job = json.loads(Path(sys.argv[1]).read_text())
events, orders, answers = (Path(job[name]) for name in ("events", "orders", "answers"))
folder = events.parent
def emit(event): open(events, "a").write(event + "\\n")
def answer(text): open(answers, "w").write(text + "\\n")
emit('{"part": "import", "status": "ok"}')
"""
END = """emit('{"part": "end", "cpu_seconds": 0.5}')"""


@dataclass(frozen=True)
class Scripted(LocalExecutor):
    """Runs Python text in place of the worker."""

    text: str = ""

    def start(self, arguments, variables, writes, memory_bytes):
        return LocalWorker(
            [sys.executable, "-c", START + self.text, arguments[-1]],
            {**os.environ, **variables},
            memory_bytes,
        )
