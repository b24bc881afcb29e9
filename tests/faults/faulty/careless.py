"""Adapters that compute the right thing and leave something behind, or hand it out too early."""

import os
import signal
import sys
import threading

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram, notes


class NoisyProgram(NumpyProgram):
    def load(self, parameters):
        super().load(parameters)
        for stream in (sys.stdout, sys.stderr):
            stream.write("progress " * 300_000)


class PrintsMegabytes(NumpyNetwork):
    name = "prints-megabytes"
    program_class = NoisyProgram


class ForkingProgram(NumpyProgram):
    own_session = False

    def load(self, parameters):
        super().load(parameters)
        if child := os.fork():
            with open(notes() / type(self).__name__, "a") as stream:
                stream.write(f"{child}\n")
            return
        if self.own_session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()


class LeavesAChild(NumpyNetwork):
    name = "leaves-a-child"
    program_class = ForkingProgram


class DaemonProgram(ForkingProgram):
    own_session = True


class LeavesADaemon(NumpyNetwork):
    """Its child leaves the process group."""

    name = "leaves-a-daemon"
    program_class = DaemonProgram


def handed_out_early(result):
    name, ready = list(result.borders.items())[-1]
    result.borders[name] = np.zeros_like(ready)
    threading.Timer(0.1, np.copyto, (result.borders[name], ready)).start()
    return result


class EarlyProgram(NumpyProgram):
    def forward(self, x):
        return handed_out_early(super().forward(x))


class ReturnsEarly(NumpyNetwork):
    """Hands out spikes that a thread writes later, and has nothing to wait for."""

    name = "returns-early"
    program_class = EarlyProgram


class EarlyLaterProgram(NumpyProgram):
    calls = 0

    def forward(self, x):
        self.calls += 1
        result = super().forward(x)
        return result if self.calls < 12 else handed_out_early(result)


class ReturnsEarlyWhenTimed(NumpyNetwork):
    """Behaves as long as it is being proved."""

    name = "returns-early-when-timed"
    program_class = EarlyLaterProgram
