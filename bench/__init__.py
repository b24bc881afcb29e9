"""snnbench: proves that spiking-neural-network frameworks compute the same network, then measures them.

    import snnbench
    snnbench.load("results/quickstart").frame  # a pandas DataFrame, see docs/python.md

The packages `snnbench.adapters` and `snnbench.kernels` live beside this one. Nothing is imported before it is asked for: workers
import this package inside a framework's environment, where none of the harness's own libraries need exist.
"""

from importlib import import_module

__version__ = "0.1.0"
_HOMES = {"load": ".api", "Results": ".api", "ConfigError": ".mistakes"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
