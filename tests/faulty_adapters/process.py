"""Not wrong: tells which process it runs in."""

import os

from numpy_network import NumpyNetwork, NumpyProgram


class TellingProgram(NumpyProgram):
    def facts(self, result):
        return {"backend": f"process {os.getpid()}"}


class Telling(NumpyNetwork):
    name = "telling"
    program_class = TellingProgram
