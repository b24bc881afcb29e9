"""`snnbench.examine` and `snnbench.same`: models of a notebook or a test."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..common.mistakes import ConfigError
from ..core.status import in_words
from ..runner.examine import Examined as Examined
from ..runner.examine import Look, check_input, compare_models, examine_model
from ..runner.examine import Same as Same
from .axes import seconds_of

Value = TypeVar("Value")
AXES = ("tbf", "btf", "bf")


def examine(
    model: Any,
    input: Any,
    *,
    axes: str = "tbf",
    classes: int | None = None,
    loss: str = "cross-entropy",
    step: Any = None,
    quick: bool = False,
    timeout: str = "2m",
) -> "Examined":
    """Says which equation each neuron of a torch model computes, and what is wrong with it.

    `model` is a module, of which a copy is examined in this process, or a pair (function,
    parameters) of JAX or a module of Flax nnx, which are looked at from outside, or
    `"model.py:net"`, which runs in a process of its own for `timeout`. `input` is a tensor or an
    array in the order `axes`: "tbf" for (T, B, features), "btf" for (B, T, features), "bf" for a
    model of one step a call, with an input (T, B, features) for all of them; or the sizes (T, B,
    features) of random zeros and ones.
    With `classes` it is trained by a `loss` of random labels, "cross-entropy" or "mse"; `step` is
    your own training step, a function of (model, x), or of (model, x, labels) with `classes`.
    `quick` measures neither costs nor fused neurons. The answer is true if nothing is wrong, and
    prints sentences. Raises ConfigError for a mistake.

    Example:

        import snnbench
        from snnbench.kernels import LIF
        from torch import nn

        net = nn.Sequential(nn.Linear(11, 5), LIF())
        examined = snnbench.examine(net, (37, 3, 11))
        assert examined, examined
    """
    from snnbench.adapters.base.jax_model import model_of
    from snnbench.adapters.base.torch_model import LOSSES, TorchModel, Training

    from ..worker import examine as worker

    if isinstance(model, str):
        seconds = seconds_of("examine", "timeout", timeout)
        file = None if step is None else _file(step)
        look = Look(_sizes(input), _axes(axes), None, classes, loss, file, quick)
        return examine_model(*_file(model), look, seconds)
    if loss not in LOSSES:
        raise ConfigError(f"loss={loss!r}: must be one of {', '.join(LOSSES)}")
    x, other = _inputs(input, _axes(axes))
    loaded = model_of(model, axes) or TorchModel(
        _copied(model), axes, Training(classes, loss, step)
    )
    examination = worker.Examination(loaded, x, other, _source(model), _ignore, _ignore)
    status, reason, _ = _ended(examination.run)
    if status == "ok" and not quick:
        _ended(examination.measure)
    return Examined(type(model).__name__, status, reason, **asdict(examination.answer))


def same(first: Any, second: Any, input: Any, *, axes: str = "tbf", timeout: str = "2m") -> "Same":
    """Says whether two torch models compute the same spikes and gradients from the same parameters,
    and where the first difference is.

    Both are modules, or both are names in files as `"old.py:net"`; `input`, `axes` and `timeout`
    are those of `examine`. The parameters of the first are given to a copy of the second. The
    answer is true if they do, and prints the first difference. Raises ConfigError for a mistake.

    Example:

        import snnbench
        from snnbench.kernels import LIF, NeuronSpec
        from torch import nn

        old = nn.Sequential(nn.Linear(11, 5), LIF(NeuronSpec("soft", decay=0.9)))
        new = nn.Sequential(nn.Linear(11, 5), LIF(NeuronSpec("soft", decay=0.9)))
        assert snnbench.same(old, new, (37, 3, 11))
    """
    from ..worker import same as worker

    if isinstance(first, str) and isinstance(second, str):
        files = [_file(first), _file(second)]
        seconds = seconds_of("same", "timeout", timeout)
        return compare_models(files, Look(_sizes(input), _axes(axes)), seconds)
    x, _ = _inputs(input, _axes(axes))
    one, other = (
        worker.Model(name, _copied(model), axes, _source(model))
        for name, model in (("the first", first), ("the second", second))
    )
    status, reason, compared = _ended(lambda: worker.compare(one, other, x))
    names = type(first).__name__, type(second).__name__
    return Same(*names, status, reason, **(asdict(compared) if compared else {}))


def _ignore(event: Any) -> None: ...


def _ended(run: Callable[[], Value]) -> tuple[str, str | None, Value | None]:
    """Returns (status, reason, value) of a call; the random numbers of the process go on as
    before."""
    import torch

    from ..worker.models import Unfit

    with torch.random.fork_rng(devices=[]):
        try:
            return "ok", None, run()
        except Unfit as error:
            return "build_error", str(error), None


def _copied(model: Any) -> Any:
    from torch import nn

    from snnbench.adapters.base.torch_model import copy_of

    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"a model of type {type(model).__name__}: must be a torch.nn.Module, or a file and a "
            'name in it, as "model.py:net"'
        )
    try:
        return copy_of(model)
    except Exception as error:
        raise ConfigError(
            f"{type(model).__name__} cannot be copied: {in_words(error)}; reset its state first"
        ) from None


def _source(model: Any) -> str:
    """Returns the file in which a model's class is written, or nothing."""
    import inspect

    try:
        return inspect.getsourcefile(type(model)) or ""
    except (TypeError, OSError):
        return ""


def _file(text: str) -> tuple[Path, str]:
    file, _, name = text.rpartition(":")
    if not (name.isidentifier() and Path(file).is_file()):
        raise ConfigError(f"{text}: must be a file and a name in it, as model.py:net")
    return Path(file), name


def _axes(axes: str) -> str:
    if axes not in AXES:
        raise ConfigError(f"axes={axes!r}: must be one of {', '.join(AXES)}")
    return axes


def _sizes(input: Any) -> tuple[int, ...]:
    """Returns (T, B, *features). Raises ConfigError."""
    whole = isinstance(input, list | tuple) and all(
        isinstance(size, int) and size > 0 for size in input
    )
    if not whole or len(input) < 3:
        raise ConfigError(
            f"input={input!r}: must be time steps, batch and features, whole numbers from 1, as "
            "(250, 64, 700)"
        )
    return tuple(input)


def _inputs(input: Any, axes: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the input (T, B, *features) and another one."""
    from ..worker.models import changed, inputs

    if isinstance(input, list | tuple):
        return inputs(_sizes(input))
    values = input.detach().cpu().numpy() if hasattr(input, "detach") else np.asarray(input)
    check_input(values, "input")
    x = values.swapaxes(0, 1) if axes == "btf" else values
    return x, changed(x)
