"""Steps that ask for values of tensors, for which the host waits on a GPU, in sentences."""

from collections.abc import Iterable, Iterator

import numpy as np

from snnbench.adapters.base.torch_lines import is_installed, modules_at, place
from snnbench.adapters.base.torch_model import TorchModel
from snnbench.adapters.base.torch_waits import waits

from .models import COSTLY, TO_KNOW, Finding, is_own_file

MOST_LINES = 3
"""Lines that are named."""


def wait_findings(model: TorchModel, x: np.ndarray) -> Iterator[Finding]:
    """Yields lines that ask for values in every time step of a training step on x (T, B,
    *features); those of frameworks are to know."""
    steps, asked = len(x), dict[tuple[str, int], tuple[int, str]]()
    for (file, line, what), count in waits(model, x).items():
        if count >= max(steps, 2) and not is_own_file(file):
            # x.cpu().numpy() waits once
            asked[file, line] = max((count, what), asked.get((file, line), (0, "")))
    for severity, installed in ((COSTLY, False), (TO_KNOW, True)):
        lines = {each: of for each, of in asked.items() if is_installed(each[0]) == installed}
        if lines:
            yield Finding(severity, _modules(model, lines), _sentence(lines, steps))


def _modules(model: TorchModel, lines: Iterable[tuple[str, int]]) -> str:
    """Returns the modules with these lines, else the training step, else the model."""
    names = [name for each in lines for name in modules_at(model.module, *each) if name]
    step = model.training.step
    return ", ".join(dict.fromkeys(names)) or (step.__name__ if step else "the model")


def _sentence(lines: dict[tuple[str, int], tuple[int, str]], steps: int) -> str:
    named = [f"{what} in {place(*each)}" for each, (_, what) in lines.items()]
    where = ", ".join(named[:MOST_LINES]) + ", …" * (len(named) > MOST_LINES)
    return (
        f"asks for values of tensors {sum(count for count, _ in lines.values())} times in {steps} "
        f"time steps ({where}): on a GPU each waits for all work before it; keep them tensors, as "
        "torch.where does, or ask once after the loop"
    )
