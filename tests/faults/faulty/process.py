"""Not wrong: tells which process it runs in, and on how many cores."""

import os

from numpy_network import NumpyNetwork, NumpyProgram


class TellingProgram(NumpyProgram):
    def facts(self, result):
        return {"backend": f"process {os.getpid()}"}


class Telling(NumpyNetwork):
    name = "telling"
    program_class = TellingProgram


class CoresProgram(NumpyProgram):
    def facts(self, result):
        return {"backend": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}"}


class Cores(NumpyNetwork):
    name = "cores"
    program_class = CoresProgram
