"""Adapters with another reset than a case asks for: a soft one, or one with another gradient."""

from dataclasses import replace

from numpy_network import NumpyNetwork, NumpyProgram


class SubtractingProgram(NumpyProgram):
    def __init__(self, case, network):
        super().__init__(case, network)
        self.spec = replace(self.spec, reset="soft")


class Subtracting(NumpyNetwork):
    name = "subtracting"
    program_class = SubtractingProgram


class AttachedProgram(NumpyProgram):
    def __init__(self, case, network):
        super().__init__(case, network)
        self.spec = replace(self.spec, detach_reset=not self.spec.detach_reset)


class Attached(NumpyNetwork):
    name = "attached"
    program_class = AttachedProgram
