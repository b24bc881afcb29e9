"""A right network that wants more memory than a job has, in one of its sizes. It eats slowly
enough to be seen eating."""

import os
import signal

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram

MIB = 1 << 20
MOST = 3 << 30
HUNGRY = 61
"""The size; problems of every proof have 97 neurons."""


class HungryProgram(NumpyProgram):
    def forward(self, x):
        meal = []
        while self.case.neurons == HUNGRY and sum(piece.size for piece in meal) < MOST:
            meal.append(np.ones(128 * MIB, np.uint8))
            signal.sigtimedwait([signal.SIGUSR1], float(os.environ.get("SNNBENCH_TEST_PAUSE", "0")))
        return super().forward(x)


class Hungry(NumpyNetwork):
    name = "hungry"
    program_class = HungryProgram
