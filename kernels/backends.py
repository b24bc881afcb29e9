"""The backends of a kernel, and which of them runs a call: the best that can on its device, or the one requested by name."""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import ModuleType

import torch


class Backends:
    """The backends of one kernel. `modules` are their modules by name, relative to `package`; `best` has names by device type,
    the best first; other devices have "reference". `does` begins the warning that a better backend does not run.

    Each module has `unavailable(device, dtype)`: why it cannot run tensors of a device and type, in words for the user, or None.
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
        """The backend's own reason, or the package that is missing."""
        try:
            return self.module(name).unavailable(torch.device(device_type), dtype)
        except ImportError as error:
            return f"{error.name} is not installed"

    def choose(
        self, device_type: str, dtype: torch.dtype, requested: str | None, warn: bool
    ) -> str:
        """`requested`, or the best that is available; the last of them is taken for available. With `warn` a warning says why a
        better one does not run. Raises ValueError if `requested` is unknown and RuntimeError, with the reason, if it cannot run.
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
