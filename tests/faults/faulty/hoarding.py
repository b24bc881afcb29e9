"""Right networks that keep a known amount of memory between their calls, some in a child process."""

import os
import signal

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram

MIB = 1 << 20
BUFFER = 64 * MIB


class HoardingProgram(NumpyProgram):
    """Keeps a buffer from its first forward on, as a workspace is kept."""

    workspace = None

    def forward(self, x):
        if self.workspace is None:
            self.workspace = np.ones(BUFFER, np.uint8)
        return super().forward(x)


class Hoarding(NumpyNetwork):
    name = "hoarding"
    program_class = HoardingProgram


class HoardingLateProgram(NumpyProgram):
    """Keeps a buffer from its first inference on."""

    workspace = None

    def inference(self, x):
        if self.workspace is None:
            self.workspace = np.ones(BUFFER, np.uint8)
        return super().inference(x)


class HoardingLate(NumpyNetwork):
    name = "hoarding-late"
    program_class = HoardingLateProgram


class LeakingProgram(NumpyProgram):
    """Keeps something of every call."""

    def forward(self, x):
        self.leaked = [*getattr(self, "leaked", []), np.ones(MIB, np.uint8)]
        return super().forward(x)


class Leaking(NumpyNetwork):
    name = "leaking"
    program_class = LeakingProgram


class HoardingChildProgram(NumpyProgram):
    """Keeps a buffer in a child process from its first forward on."""

    child = None

    def forward(self, x):
        if self.child is None:
            ready, filled = os.pipe()
            self.child = os.fork()
            if not self.child:
                buffer = np.ones(BUFFER, np.uint8)
                os.write(filled, buffer[:1].tobytes())
                signal.pause()
            os.read(ready, 1)
        return super().forward(x)


class HoardingChild(NumpyNetwork):
    name = "hoarding-child"
    program_class = HoardingChildProgram


class HoardingTimedProgram(NumpyProgram):
    """Keeps a buffer from its twentieth step on, when it is no longer weighed."""

    steps = 0

    def step(self, x, upstream):
        self.steps += 1
        if self.steps == 20:
            self.workspace = np.ones(BUFFER, np.uint8)
        return super().step(x, upstream)


class HoardingTimed(NumpyNetwork):
    name = "hoarding-timed"
    program_class = HoardingTimedProgram
