"""A right network that does not end loading while its test holds it by a file."""

import signal

from numpy_network import NumpyNetwork, NumpyProgram, notes


class HeldProgram(NumpyProgram):
    def load(self, parameters):
        super().load(parameters)
        hold = notes() / f"hold-{self.case.neurons}"
        if hold.exists():
            (notes() / "held").touch()
        while hold.exists():
            signal.sigtimedwait([signal.SIGUSR1], 0.02)


class Held(NumpyNetwork):
    name = "held"
    program_class = HeldProgram
