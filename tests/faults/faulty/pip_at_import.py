"""Runs pip when it is imported, as the stub of samna on PyPI does, and ignores what comes of it."""

import os
from contextlib import suppress

from numpy_network import NumpyNetwork

with suppress(Exception):
    os.system("pip3 install --force-reinstall something")


class PipAtImport(NumpyNetwork):
    name = "pip-at-import"
