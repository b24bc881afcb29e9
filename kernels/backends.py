"""Chooses the backend of a call: the best that its device can run, or the requested one."""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import ModuleType

import torch


class Backends:
    """The backends of one kernel.

    `modules` maps names to modules relative to `package`. `best` maps a device type to names, the
    best first; other devices run "reference". `does` begins the warning that a better backend
    cannot run. Each module has `unavailable(device, dtype)`: the reason why it cannot run such
    tensors, or None.
    """

    def __init__(
        self,
        does: str,
        package: str | None,
        modules: Mapping[str, str],
        best: Mapping[str, Sequence[str]],
    ):
        self.does, self.package, self.modules, self.best = does, package, modules, best
        self.module, self.unavailable = lru_cache(self._module), lru_cache(self._unavailable)

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(self.modules[name], self.package)

    def _unavailable(self, name: str, device_type: str, dtype: torch.dtype) -> str | None:
        """Returns the backend's reason, or the missing package."""
        try:
            return self.module(name).unavailable(torch.device(device_type), dtype)
        except ImportError as error:
            return f"{error.name} is not installed"

    def choose(
        self, device_type: str, dtype: torch.dtype, requested: str | None, warn: bool
    ) -> str:
        """Returns `requested`, or the best available backend; the last of `best` is assumed
        available.

        Warns with the reasons why better backends cannot run if `warn`. Raises ValueError if
        `requested` is unknown and RuntimeError, with the reason, if it cannot run.
        """
        if requested is None:
            reasons = []
            for name in self.best.get(device_type, ("reference",)):
                if not (reason := self.unavailable(name, device_type, dtype)):
                    break
                reasons.append(reason)
            if reasons and warn:
                spelling = "plain torch" if name == "reference" else name
                warnings.warn(f"{self.does} as {spelling}: {'; '.join(reasons)}", stacklevel=3)
            return name
        if requested not in self.modules:
            raise ValueError(f"backend = {requested!r} is not one of {', '.join(self.modules)}")
        if reason := self.unavailable(requested, device_type, dtype):
            cannot = f"{str(dtype).removeprefix('torch.')} on {device_type}"
            raise RuntimeError(f"backend {requested!r} cannot run {cannot}: {reason}")
        return requested
