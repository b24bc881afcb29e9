"""Adapters that end their process, or never return."""

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
    """Exits with status 0, as if nothing had failed."""

    name = "exits-quietly"
    program_class = QuietExitProgram


class ExitProgram(NumpyProgram):
    def forward(self, x):
        sys.exit(3)


class Exits(NumpyNetwork):
    name = "exits"
    program_class = ExitProgram


class ExitWithWordsProgram(NumpyProgram):
    def forward(self, x):
        sys.exit("bye")


class ExitsWithWords(NumpyNetwork):
    name = "exits-with-words"
    program_class = ExitWithWordsProgram


class DiesLateProgram(NumpyProgram):
    stepped, turns = False, 0

    def step(self, x, upstream):
        self.stepped = True
        return super().step(x, upstream)

    def inference(self, x):
        self.turns, self.stepped = self.turns + self.stepped, False
        if self.turns == 3:  # steps were weighed, warmed up and timed before
            os.kill(os.getpid(), signal.SIGKILL)
        return super().inference(x)


class DiesLate(NumpyNetwork):
    """Dies in the last phase, when the others have been timed."""

    name = "dies-late"
    program_class = DiesLateProgram


class HangingProgram(NumpyProgram):
    def forward(self, x):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)


class Hangs(NumpyNetwork):
    name = "hangs"
    program_class = HangingProgram


class HangsInTheProof(NumpyNetwork):
    """Hangs when it is called in its proof, which has programs of its own."""

    name = "hangs-in-the-proof"
    programs = 0

    def program(self, case, network):
        self.programs += 1
        return (NumpyProgram if self.programs == 1 else HangingProgram)(case, network)
