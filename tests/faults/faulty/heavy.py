"""Right networks that take a known amount of memory in each phase and give it back."""

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram

MIB = 1 << 20
FORWARD, BACKWARD, STEP, INFERENCE = 128 * MIB, 80 * MIB, 112 * MIB, 96 * MIB


def touched(size):
    """Bytes that are written, so that they count as memory in use."""
    return np.ones(size, np.uint8)


class HeavyProgram(NumpyProgram):
    def forward(self, x):
        touched(FORWARD)
        return super().forward(x)

    def backward(self, result, upstream):
        touched(BACKWARD)
        return super().backward(result, upstream)

    def step(self, x, upstream):
        touched(STEP)
        return super().optimize(super().backward(super().forward(x), upstream))

    def inference(self, x):
        touched(INFERENCE)
        return NumpyProgram.forward(self, x)


class Heavy(NumpyNetwork):
    name = "heavy"
    program_class = HeavyProgram


class KeepingProgram(NumpyProgram):
    """Keeps FORWARD bytes with the result of a forward, as a graph of gradients does."""

    def forward(self, x):
        result = super().forward(x)
        result.memory = touched(FORWARD)
        return result


class Keeping(NumpyNetwork):
    name = "keeping"
    program_class = KeepingProgram
