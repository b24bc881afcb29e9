"""A file that cannot be imported."""

from numpy_network import NumpyNetwork


class ImportRaises(NumpyNetwork):
    name = "import-raises"


raise RuntimeError("this framework wants another NumPy")
