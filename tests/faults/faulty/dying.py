"""Adapters that take their process with them, or never come back."""

import os
import signal
import sys
import time

from numpy_network import NumpyNetwork, NumpyProgram


class SegfaultProgram(NumpyProgram):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)


class Segfaults(NumpyNetwork):
    name = "segfaults"
    program_class = SegfaultProgram


class QuietExitProgram(NumpyProgram):
    def backward(self, result, upstream):
        os._exit(0)


class ExitsQuietly(NumpyNetwork):
    """With status 0, as if all were well."""

    name = "exits-quietly"
    program_class = QuietExitProgram


class ExitProgram(NumpyProgram):
    def forward(self, x):
        sys.exit(3)


class Exits(NumpyNetwork):
    name = "exits"
    program_class = ExitProgram


class LateProgram(NumpyProgram):
    calls = 0

    def inference(self, x):
        self.calls += 1
        if self.calls == 8:  # the proof takes six, each program counts its own
            os.kill(os.getpid(), signal.SIGKILL)
        return super().inference(x)


class DiesLate(NumpyNetwork):
    """In the last phase, when the others have been timed."""

    name = "dies-late"
    program_class = LateProgram


class HangingProgram(NumpyProgram):
    def forward(self, x):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)


class Hangs(NumpyNetwork):
    name = "hangs"
    program_class = HangingProgram
