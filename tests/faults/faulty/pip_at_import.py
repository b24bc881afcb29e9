"""Runs pip when imported, as samna's stub on PyPI does, and goes on as if nothing had happened."""

import os
from contextlib import suppress

from numpy_network import NumpyNetwork

with suppress(Exception):
    os.system("pip3 install --force-reinstall something")


class PipAtImport(NumpyNetwork):
    name = "pip-at-import"
