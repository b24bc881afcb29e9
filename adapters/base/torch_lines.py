"""Names lines of a user's torch module, and of the frameworks below it."""

from pathlib import Path

import torch
from torch import nn

TORCH, PACKAGES = f"{Path(torch.__file__).parent}/", "/site-packages/"


def is_torch(file: str) -> bool:
    """Tells if a frame's file is torch's, or code that torch generates."""
    return file.startswith((TORCH, "<eval_with_key"))


def is_installed(file: str) -> bool:
    """Tells if a file is a framework's, not the user's."""
    return PACKAGES in file


def place(file: str, line: int) -> str:
    """Returns `model.py:37`, or `snntorch/functional/loss.py:37` of a framework."""
    short = file.rpartition(PACKAGES)[2] if is_installed(file) else Path(file).name
    return f"{short}:{line}"


def modules_at(module: nn.Module, file: str, line: int) -> list[str]:
    """Returns the names of the modules in `module` with this line in a method of their class; of
    `module` itself it is empty."""
    return [name for name, one in module.named_modules() if _has_line(type(one), file, line)]


def _has_line(kind: type, file: str, line: int) -> bool:
    methods = (each for base in kind.__mro__ for each in vars(base).values())
    codes = (method.__code__ for method in methods if hasattr(method, "__code__"))
    return any(
        code.co_filename == file
        and code.co_firstlineno <= line <= max(each for _, _, each in code.co_lines() if each)
        for code in codes
    )
