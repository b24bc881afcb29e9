"""snnbench: proves that spiking-neural-network frameworks compute the same network, then measures them.

The packages `snnbench.adapters` and `snnbench.kernels` live beside this one. Nothing is imported here: workers
import this package inside a framework's environment, where none of the harness's own libraries need exist.
"""

__version__ = "0.1.0"
