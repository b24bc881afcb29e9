"""Adapters that try what a worker may not, and swallow the refusal."""

import socket
import subprocess
import sys
from contextlib import suppress

from numpy_network import NumpyNetwork, NumpyProgram


class PipProgram(NumpyProgram):
    def load(self, parameters):
        super().load(parameters)
        with suppress(Exception):
            subprocess.run([sys.executable, "-m", "pip", "install", "something"])


class StartsPip(NumpyNetwork):
    name = "starts-pip"
    program_class = PipProgram


class NetworkProgram(NumpyProgram):
    def inference(self, x):
        with suppress(Exception), socket.socket() as connection:
            connection.connect(("192.0.2.1", 80))
        return super().inference(x)


class CallsHome(NumpyNetwork):
    name = "calls-home"
    program_class = NetworkProgram
