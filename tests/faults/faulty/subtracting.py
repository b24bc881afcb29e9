"""An adapter of which every reset is soft, whatever a case asks for."""

from dataclasses import replace

from numpy_network import NumpyNetwork, NumpyProgram


class SubtractingProgram(NumpyProgram):
    def __init__(self, case, network):
        super().__init__(case, network)
        self.spec = replace(self.spec, reset="soft")


class Subtracting(NumpyNetwork):
    name = "subtracting"
    program_class = SubtractingProgram
