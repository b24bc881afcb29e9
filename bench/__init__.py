"""snnbench proves that SNN frameworks compute the same network, then measures them.

    import snnbench
    snnbench.check("norse", neuron="soft")              # the proof alone
    snnbench.run("experiment.toml", neurons=[256])      # as snnbench run
    snnbench.load("results/quickstart.bundle.jsonl").frame    # pandas; docs/python.md has more

Names are imported when they are used: workers import this package in a framework's environment,
which has none of the harness's libraries.
"""

import sys
from importlib import import_module

from .common import __version__ as __version__

TYPE_CHECKING = False  # spares the import of `typing`: workers load this file at once
if TYPE_CHECKING:  # what editors and type checkers see of the names below
    from .api.answering import Answer as Answer
    from .api.answering import quick as quick
    from .api.checking import Verdict as Verdict
    from .api.checking import check as check
    from .api.comparing import Compared as Compared
    from .api.comparing import compare as compare
    from .api.examining import Examined as Examined
    from .api.examining import Same as Same
    from .api.examining import examine as examine
    from .api.examining import same as same
    from .api.plotting import Plots as Plots
    from .api.plotting import plot as plot
    from .api.results import Results as Results
    from .api.results import load as load
    from .api.running import run as run
    from .common.mistakes import ConfigError as ConfigError

_HOMES = {
    "load": ".api.results",
    "Results": ".api.results",
    "run": ".api.running",
    "check": ".api.checking",
    "Verdict": ".api.checking",
    "quick": ".api.answering",
    "Answer": ".api.answering",
    "compare": ".api.comparing",
    "Compared": ".api.comparing",
    "examine": ".api.examining",
    "Examined": ".api.examining",
    "same": ".api.examining",
    "Same": ".api.examining",
    "plot": ".api.plotting",
    "Plots": ".api.plotting",
    "ConfigError": ".common.mistakes",
}
_CALLED = ("load", "run", "quick", "check", "compare", "examine", "same", "plot")


def __getattr__(name: str) -> object:
    if name in _CALLED and _is_worker():
        return lambda *arguments, **keywords: _refuse(name)
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _is_worker() -> bool:
    """True in a worker, which imports the file of an adapter."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == f"{__name__}.worker.__main__"


def _refuse(name: str) -> None:
    """A worker that checked what it imports would start workers without an end."""
    from .common.mistakes import ConfigError

    advice = "put that under `if __name__ == '__main__':`"
    raise ConfigError(
        f"this file calls snnbench.{name} when it is imported, and workers import it; {advice}"
    )
