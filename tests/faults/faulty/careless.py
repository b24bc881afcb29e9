"""Right networks that print megabytes, leave processes behind, or hand out spikes before they
are computed."""

import os
import signal
import sys
import threading

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram, notes


class PrintingProgram(NumpyProgram):
    def load(self, parameters):
        super().load(parameters)
        for stream in (sys.stdout, sys.stderr):
            stream.write("progress " * 300_000)


class PrintsMegabytes(NumpyNetwork):
    name = "prints-megabytes"
    program_class = PrintingProgram


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
    """The result with zeros for spikes, which a thread overwrites with the right ones 0.1 s
    later."""
    name, ready = list(result.borders.items())[-1]
    result.borders[name] = np.zeros_like(ready)
    threading.Timer(0.1, np.copyto, (result.borders[name], ready)).start()
    return result


class EarlyProgram(NumpyProgram):
    def forward(self, x):
        return handed_out_early(super().forward(x))


class ReturnsEarly(NumpyNetwork):
    """Hands out spikes that a thread writes later, and `wait` does not wait for it."""

    name = "returns-early"
    program_class = EarlyProgram


class LateProgram(NumpyProgram):
    writer = None

    def step(self, x, upstream):
        result = super().step(x, upstream)
        late = result.input_gradient
        ready, result.input_gradient = late, np.zeros_like(late)
        self.writer = threading.Timer(0.05, np.copyto, (result.input_gradient, ready))
        self.writer.start()
        return result

    def release(self):
        if self.writer:
            self.writer.join()


class FinishesLater(NumpyNetwork):
    """Hands out a gradient of the input that a thread writes before the next call is made."""

    name = "finishes-later"
    program_class = LateProgram


class EarlyWhenTimedProgram(NumpyProgram):
    def forward(self, x):
        result = super().forward(x)
        return result if self.count("forward") < 60 else handed_out_early(result)


class ReturnsEarlyWhenTimed(NumpyNetwork):
    """Is right while it is being proved."""

    name = "returns-early-when-timed"
    program_class = EarlyWhenTimedProgram
