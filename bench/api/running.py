"""`snnbench.run`: what the verb `run` does, in Python."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from ..common.mistakes import ConfigError, nearest, shown
from ..experiment.setting import Argument
from ..report.files import finish
from ..runner.planning import Plan, Where, left_out_in_words, load_plan
from ..runner.progress import execute_shown
from .axes import Axes, axis_settings, with_axes
from .results import Results


@with_axes
def run(
    config: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    only: str = "",
    fresh: bool = False,
    adapters: Sequence[str | type] = (),
    executor: str = "local",
    shard: str = "1/1",
    measure: Mapping[str, Any] = {},
    **grid: Unpack[Axes],
) -> Results:
    """Proves and measures every case of an experiment and returns the results, as `load` does.

    The same call resumes an interrupted run; finished cases are not measured again. `config` is a
    TOML file, the name of a shipped config, or the values of one as a dict. `measure` replaces
    keys of its table [measure], further keywords axes of its grid, with one value or a list.
    Records, results.csv and report.html are in `out`, by default results/local/NAME. `adapters`
    adds adapters, as classes or as `file.py:Class`; the others are the options of `snnbench run`.
    Progress is printed on stderr. A failed case is a row with its status. Raises ConfigError for a
    mistake, in one sentence.

    Example:

        import snnbench

        grid = {"framework": ["torch", "norse"], "neurons": [256]}
        experiment = {"name": "mine", "grid": grid}
        results = snnbench.run(experiment, neuron=["soft", "hard"], measure={"blocks": 2})
        results.fastest()[["neuron", "variant", "step_s"]]
    """
    if not isinstance(config, str | Path | Mapping):
        raise ConfigError(
            f"run(): config is of type {type(config).__name__}: "
            "must be a TOML file, or its values as a dict"
        )
    if executor not in [*Where]:
        raise ConfigError(
            f"run(executor={executor!r}): must be one of {', '.join(Where)}"
            f"{nearest(executor, Where)}"
        )
    settings = axis_settings("run", grid)
    settings += [Argument(f"measure.{key}", value, "run") for key, value in measure.items()]
    references = [reference_of(adapter) for adapter in adapters]
    plan = load_plan(
        Path(config) if isinstance(config, str) else config,
        settings,
        only,
        references,
        Where(executor),
        shard,
    )
    console = progress_console(plan)
    folder = plan.folder(Path(out) if out else None)
    interrupted = execute_shown(plan, folder, fresh, console)
    results = finish(folder, plan.experiment.name)
    for sentence in results.unreadable:
        console.print(sentence, soft_wrap=True, markup=False)
    if interrupted:
        raise KeyboardInterrupt("what is finished is kept, and the same call goes on from there")
    return Results(results, results.table.of_groups_with({planned.id for planned in plan.mine}))


def progress_console(plan: Plan) -> Console:
    """Returns the console for progress, stderr, after it was told what the plan means here."""
    console = Console(file=sys.stderr, highlight=False, force_jupyter=False)
    for sentence in [*plan.experiment.neuron_lines, *left_out_in_words(plan.left_out)]:
        console.print(sentence, soft_wrap=True, markup=False)
    return console


def reference_of(adapter: str | type) -> str:
    """Returns `file.py:Class` or `package.module:Class` of an adapter's class, and text unchanged.
    Raises ConfigError if another process could not import the class."""
    if isinstance(adapter, str):
        return adapter
    if not isinstance(adapter, type):
        raise ConfigError(
            f"{shown(adapter)}: must be the name of a framework, 'file.py:Class', or the "
            "class of an adapter"
        )
    name = adapter.__qualname__
    if not name.isidentifier():
        raise ConfigError(
            f"{name}: is inside another class or a function, where no worker finds it; put it at "
            "the top of a file"
        )
    if "." in adapter.__module__:
        return f"{adapter.__module__}:{name}"
    try:
        file = Path(inspect.getfile(adapter))
    except (TypeError, OSError):
        file = Path()
    if file.suffix != ".py" or not file.is_file():
        example = f"in a notebook with %%writefile mine.py, then check('mine.py:{name}')"
        raise ConfigError(
            f"{name}: has no file, and workers import it from there; write it to one, {example}"
        )
    return f"{file.resolve()}:{name}"


def is_reference(text: str) -> bool:
    """Returns True if text names a class, not a framework or a variant such as `torch:compile`."""
    source, colon, _ = text.rpartition(":")
    words = source.split(".")
    return bool(colon) and (
        source.endswith(".py") or (len(words) > 1 and all(word.isidentifier() for word in words))
    )
