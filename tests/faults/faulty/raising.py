"""Adapters that raise, each in another part of a case, as frameworks do."""

import numpy as np
from numpy_network import NumpyNetwork, NumpyProgram

from snnbench.adapters import Unsupported


class NotInstalled(NumpyNetwork):
    name = "not-installed"
    requires = ("framework_that_nobody_has",)


class BuildRaises(NumpyNetwork):
    name = "build-raises"

    def program(self, case, network):
        raise ValueError("no such layer")


class RefusesLate(NumpyNetwork):
    """Refuses a case only when it builds the network."""

    name = "refuses-late"

    def program(self, case, network):
        raise Unsupported("odd sizes are not offered")


class SupportsIsTrue(NumpyNetwork):
    """Returns True from `supports`, which must return a reason or None."""

    name = "supports-is-true"

    def supports(self, case):
        return True


class ForwardProgram(NumpyProgram):
    error = ZeroDivisionError("forward divided by zero")

    def forward(self, x):
        raise self.error


class ForwardRaises(NumpyNetwork):
    name = "forward-raises"
    program_class = ForwardProgram


class OutOfMemoryProgram(ForwardProgram):
    error = MemoryError()


class RaisesMemoryError(NumpyNetwork):
    name = "raises-memory-error"
    program_class = OutOfMemoryProgram


class BackwardProgram(NumpyProgram):
    def backward(self, result, upstream):
        raise ArithmeticError("backward lost its graph")


class BackwardRaises(NumpyNetwork):
    name = "backward-raises"
    program_class = BackwardProgram


class CompilingProgram(NumpyProgram):
    def backward(self, result, upstream):
        raise RuntimeError(
            "c++ failed with status 1: ld: final link failed: No space left on device"
        )


class CompilesOnAFullDisk(NumpyNetwork):
    name = "compiles-on-a-full-disk"
    program_class = CompilingProgram


class TightProgram(NumpyProgram):
    def backward(self, result, upstream):
        if self.case.neurons > 97:
            raise MemoryError
        return super().backward(result, upstream)


class BackwardDoesNotFit(NumpyNetwork):
    """Its backward runs out of memory above 97 neurons."""

    name = "backward-does-not-fit"
    program_class = TightProgram


class GreedyProgram(NumpyProgram):
    def forward(self, x):
        np.ones(4 << 30, np.uint8)
        return super().forward(x)


class AllocatesTooMuch(NumpyNetwork):
    name = "allocates-too-much"
    program_class = GreedyProgram
