"""Right networks that keep a known amount of memory between their calls."""

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
