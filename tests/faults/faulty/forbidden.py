"""Adapters that start pip or open a connection, which a worker may not do, and swallow the
refusal."""

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


class ConnectingProgram(NumpyProgram):
    def inference(self, x):
        with suppress(Exception), socket.socket() as connection:
            connection.connect(("192.0.2.1", 80))
        return super().inference(x)


class CallsHome(NumpyNetwork):
    name = "calls-home"
    program_class = ConnectingProgram
